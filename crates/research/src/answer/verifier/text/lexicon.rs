//! Lexicon: synonyms of scientific prose, opposites and their directions, negators, and stop words.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::stemmer;

/// Synonyms of scientific prose, one group per line; the first word represents the group.
const SYNONYMS: &str = include_str!("synonyms.txt");

/// Pairs of opposites: the name of the axis, the words of one direction, and of the other.
const ANTONYMS: &[(&str, &str, &str)] = &[
    (
        "amount",
        "increase increased rise rose risen raise grew grow growth higher high more \
         greater elevated elevate upregulated upregulate expand expanded climb climbed \
         doubled tripled larger most highest exceed exceeded surge boost boosted \
         amplified amplify up accumulate heavier longer extend extended lengthen \
         lengthened prolong prolonged augmented longest largest majority above \
         multiplied bigger biggest taller tallest soar soared jump jumped swell swelled enlarge \
         enlarged intensify intensified heighten heightened upward upwards deeper",
        "decrease decreased decline declined reduce reduced reduction fall fell fallen \
         drop dropped lower lowered low less fewer diminish diminished downregulated \
         downregulate shrink shrank shrunk smaller halved least lowest shorten shortened \
         shorter lighter curtail attenuated attenuate cut down deplete depleted fewest \
         smallest minority below shortest deflated dwindled lessen lessened plunge plunged plummet plummeted slump slumped sank \
         sink sunk downward downwards shallower minimise minimize tiniest",
    ),
    (
        "quality",
        "improve improved better enhance enhanced superior outperform outperformed \
         surpass surpassed beat benefit best beneficial strengthen ameliorate succeed \
         succeeded success effective ahead alleviated good",
        "worsen worsened worse impair impaired inferior underperform underperformed \
         degrade degraded deteriorate deteriorated harm worst harmful weaken ineffective \
         lag trail trailed lagged behind hurt aggravated",
    ),
    (
        "keeping",
        "gained gain gains retain retained retains retaining kept preserved preserves",
        "lost lose loses losing",
    ),
    (
        "how often",
        "daily hourly",
        "weekly monthly yearly annually",
    ),
    (
        "strength",
        "strong stronger strongly robust",
        "weak weaker weakly feeble",
    ),
    (
        "speed",
        "faster fastest accelerate accelerated hasten fast quick quicker quickest quickly rapid \
         rapidly swiftly sped",
        "slower slowest slow slowly delay delayed slowed decelerated retard",
    ),
    (
        "sign",
        "positive positively",
        "negative negatively inverse inversely",
    ),
    (
        "time",
        "before earlier early precede preceded prior earliest sooner predate predated predates previously",
        "after later late follow followed subsequent latest afterwards subsequently postdate postdated",
    ),
    (
        "action",
        "promote promoted activate activated stimulate stimulated facilitate allow \
         allowed enable enabled encourage",
        "inhibit inhibited suppress suppressed block blocked prevent prevented hinder \
         hindered repress discourage",
    ),
    (
        "presence",
        "present presence contain contains include included",
        "absent absence lack lacked exclude excluded missing",
    ),
    (
        "significance",
        "significant significantly",
        "insignificant insignificantly nonsignificant",
    ),
    (
        "sensitivity",
        "sensitive sensitivity susceptible",
        "resistant resistance insensitive immune",
    ),
    (
        "stance",
        "support supported confirm confirmed accept accepted",
        "refute refuted contradict contradicted reject rejected dispute",
    ),
    (
        "temperature",
        "warmer hotter hot warm warming",
        "cooler colder cold cool cooling",
    ),
    ("moisture", "wet wetter humid", "dry drier arid"),
    (
        "stability",
        "stable stabilise stabilize stabilised stabilized",
        "unstable destabilise destabilize destabilised destabilized",
    ),
    (
        "ease",
        "easier easy simple simpler",
        "harder hard difficult complex",
    ),
    ("side", "left", "right"),
    (
        "pole",
        "north northern northward",
        "south southern southward",
    ),
    ("dawn", "east eastern", "west western"),
    (
        "bound",
        "maximum maximal upper ceiling",
        "minimum minimal floor",
    ),
    (
        "sex",
        "male males man men boys",
        "female females woman women girls",
    ),
    (
        "age",
        "adult adults older elderly",
        "child children younger infants adolescents",
    ),
    ("surface", "surface shallow", "deep depth"),
    (
        "likelihood",
        "likely possible able capable probable",
        "unlikely impossible unable incapable improbable",
    ),
    (
        "view",
        "overestimate overestimated",
        "underestimate underestimated",
    ),
    ("safety", "safe safely", "unsafe dangerous toxic"),
    ("known", "known clear", "unknown unclear"),
    (
        "aware",
        "common widespread frequently often",
        "uncommon infrequent infrequently rare rarely seldom",
    ),
    ("nearness", "near close closer", "far distant farther"),
    (
        "width",
        "thick thicker thickest wide wider widest broad broader",
        "thin thinner thinnest narrow narrower narrowest",
    ),
    (
        "expense",
        "expensive costly costlier dearer pricier",
        "cheap cheaper cheapest inexpensive",
    ),
    (
        "wealth",
        "rich richer wealthy wealthier",
        "poor poorer poorest",
    ),
    (
        "accord",
        "agree agreed agreement concur concurred",
        "disagree disagreed disagreement",
    ),
    (
        "likeness",
        "similar identical comparable",
        "differ differed different difference differences dissimilar",
    ),
    (
        "lasting",
        "persist persisted persistent endure endured",
        "disappear disappeared vanish vanished fade faded",
    ),
];

/// Words that only look like words of direction once their suffixes are removed.
const NOT_DIRECTIONAL: &[&str] = &[
    "like",
    "alike",
    "position",
    "positions",
    "effect",
    "effects",
    "lateral",
    "presented",
    "closed",
    "closing",
    "last",
    "lasts",
    "goods",
    "light",
    "lights",
];

/// Axes of categories rather than of change: one sentence can mention both ends.
const CATEGORY_AXES: &[&str] = &["sex", "age", "side", "pole", "dawn", "surface", "presence"];

/// Axes with more and less, or better and worse, where one can stand for another: what is more
/// expensive has a higher price.
const SCALE_AXES: &[&str] = &[
    "amount",
    "quality",
    "keeping",
    "strength",
    "speed",
    "sign",
    "action",
    "sensitivity",
    "temperature",
    "moisture",
    "stability",
    "ease",
    "view",
    "safety",
    "aware",
    "width",
    "expense",
    "wealth",
    "lasting",
];

/// Words that negate what follows them.
const NEGATORS: &str = "not no never without neither nor none cannot fail fails failed failing hardly \
    scarcely barely non nothing nobody lacked lacks lack lacking absence unable didn't \
    doesn't don't isn't wasn't weren't aren't won't can't couldn't wouldn't hasn't \
    haven't hadn't shouldn't refute refuted";

/// Negators of other languages, without those that are words or signs in English texts.
const FOREIGN_NEGATORS: &str = "nicht kein keine keinen keiner keinem nie niemals ohne weder pas jamais \
    aucun aucune sans nunca ningún ninguna jamás tampoco nessun nessuna senza não nenhum nenhuma niet \
    geen nooit zonder inte ikke не нет ни без";

/// Words that a negation can paraphrase: `stopped` is `did not go on`.
const IMPLICIT_NEGATIVES: &str = "stop stops stopped stopping cease ceased end ended avoid avoided refuse refused \
    reject rejected deny denied miss missed missing only alone rather instead except exception free \
    zero same equal equally similar alike comparable identical constant steady stable flat little few \
    too gone away ruled excluded unlike against halted lose lost loses losing sole limited restricted \
    false wrong absent independent regardless neither until if unless before despite";

/// Words without content: function words, and words that papers use about themselves.
const STOP_WORDS: &str = "a an the of in on at to for from by with as and or but if then than that this these \
    those it its is are was were be been being has have had having do does did done will \
    would can could may might must shall should not no nor never so such also both each \
    either which who whom whose what when where while whereas how why there their they \
    them we our us you your he she his her i into over under between among across \
    through during about against per via within without because since although though \
    however thus hence therefore moreover furthermore indeed only just even still yet \
    very much many some any all other another same own too here up out off again further \
    once show shows showed shown find found finds finding findings report reports \
    reported reporting suggest suggests suggested demonstrate demonstrates demonstrated \
    indicate indicates indicated observe observed observes conclude concluded concludes \
    reveal reveals revealed note noted notes state states stated describe describes \
    described author authors study studies paper papers article result results \
    researcher researchers research work according evidence data et al respectively \
    compared compare comparison relative versus vs namely eg ie one well upon toward \
    towards along whether like due seen see became become remain remained overall \
    passage source percent cent approximately around roughly nearly almost fail failed \
    fails neither none cannot estimate estimated value values level levels set based rather instead \
    together afterwards meanwhile specifically particularly actually likewise similarly additionally \
    consequently quite simply generally typically usually case cases way ways kind type sort thing \
    things every itself themselves until already fully every amount amounts figure figures number \
    numbers unlike according including";

/// Things of which less is better.
const UNDESIRABLE: &str = "pain error errors risk risks mortality death deaths symptom symptoms cost costs \
    latency time loss anaemia anemia depression anxiety disease perplexity distance \
    noise recurrence fatigue stress toxicity weight pollution emissions inflammation \
    bias uncertainty";

/// Things that cannot stand for each other although they are written like common words.
const SUBSTANCES: &str = "silicon diamond carbon iron zinc copper cobalt nickel gold silver tin oxygen \
    nitrogen hydrogen helium lithium sodium potassium calcium magnesium titanium platinum mercury \
    arsenic sulfur sulphur phosphorus chlorine fluorine iodine boron aluminium aluminum graphite \
    graphene quartz steel glass polymer ceramic water ice alcohol opioid opioids caffeine nicotine \
    aspirin glucose fructose sucrose cholesterol protein fat fibre fiber sugar salt heroin \
    morphine cannabis tobacco vitamin mouse mice rat rats human humans monkey monkeys pig pigs \
    rabbit rabbits dog dogs cat cats cow cows cattle sheep goat goats horse horses chicken \
    chickens fish zebrafish frog frogs bee bees honeybee honeybees bumblebee bumblebees ant ants \
    fly flies mosquito mosquitoes yeast wheat rice maize corn soybean soybeans barley potato \
    potatoes tomato tomatoes cancer diabetes asthma stroke dementia malaria tuberculosis influenza \
    measles pneumonia obesity hypertension epilepsy autism schizophrenia depression anxiety \
    leukaemia leukemia lymphoma melanoma sepsis hepatitis arthritis osteoporosis migraine \
    monday tuesday wednesday thursday friday saturday sunday january february march april june \
    july august september october november december spring summer autumn winter heart liver \
    kidney kidneys lung lungs brain skin bone bones muscle stomach breast prostate colon retina";

/// A direction on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisDirection {
    pub(crate) axis: &'static str,
    pub(crate) up: bool,
}

struct Lexicon {
    synonyms: HashMap<String, &'static str>,
    directions: HashMap<String, AxisDirection>,
    negators: HashSet<&'static str>,
    implicit_negatives: HashSet<&'static str>,
    stop_words: HashSet<&'static str>,
    undesirable: HashSet<&'static str>,
    substances: HashSet<&'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut same = HashMap::new();
    for group in SYNONYMS.lines() {
        let first = group.split_whitespace().next().unwrap_or_default();
        for word in group.split_whitespace() {
            same.insert(word.to_owned(), first);
        }
    }
    // Inflected forms that the list omits: `removes`, `removing`.
    for group in SYNONYMS.lines() {
        let first = group.split_whitespace().next().unwrap_or_default();
        for word in group.split_whitespace().filter(|it| it.len() > 4) {
            same.entry(stemmer::strip_suffixes(word)).or_insert(first);
        }
    }
    let mut directions = HashMap::new();
    for (axis, one, other) in ANTONYMS {
        for (words, up) in [(one, true), (other, false)] {
            for word in words.split_whitespace() {
                let direction = AxisDirection { axis, up };
                directions.entry(word.to_owned()).or_insert(direction);
                // Inflected forms that the list omits: `increases`, `increasing`.
                directions
                    .entry(stemmer::strip_suffixes(word))
                    .or_insert(direction);
            }
        }
    }
    let words = |list: &'static str| list.split_whitespace();
    Lexicon {
        synonyms: same,
        directions,
        implicit_negatives: words(IMPLICIT_NEGATIVES).collect(),
        negators: words(NEGATORS).chain(words(FOREIGN_NEGATORS)).collect(),
        stop_words: words(STOP_WORDS).chain(words(FOREIGN_NEGATORS)).collect(),
        undesirable: UNDESIRABLE.split_whitespace().collect(),
        substances: SUBSTANCES.split_whitespace().collect(),
    }
});

/// The word that represents a group of synonyms.
pub(crate) fn canonical_synonym(word: &str) -> Option<&'static str> {
    LEXICON.synonyms.get(word).copied()
}

/// The direction of a word.
pub(crate) fn direction(word: &str) -> Option<AxisDirection> {
    if NOT_DIRECTIONAL.contains(&word) {
        return None;
    }
    let found = LEXICON.directions.get(word);
    found
        .or_else(|| LEXICON.directions.get(&stemmer::strip_suffixes(word)))
        .copied()
}

/// Whether a word negates what follows it.
pub(crate) fn is_negator(word: &str) -> bool {
    LEXICON.negators.contains(word)
}

/// Whether a negation can paraphrase the word.
pub(crate) fn is_implicit_negative(word: &str) -> bool {
    LEXICON.implicit_negatives.contains(word)
}

pub(crate) fn is_stop_word(word: &str) -> bool {
    LEXICON.stop_words.contains(word)
}

/// Whether less of it is better.
pub(crate) fn is_undesirable(word: &str) -> bool {
    LEXICON.undesirable.contains(word)
}

/// Whether a lower-case word names a thing that no other word can stand for.
pub(crate) fn is_substance(word: &str) -> bool {
    LEXICON.substances.contains(word)
}

/// Whether an axis is one of categories rather than of change.
pub(crate) fn is_category_axis(axis: &str) -> bool {
    CATEGORY_AXES.contains(&axis)
}

/// Whether an axis has more and less.
pub(crate) fn is_scale_axis(axis: &str) -> bool {
    SCALE_AXES.contains(&axis)
}
