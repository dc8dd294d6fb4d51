//! The word lists: stop words, opposites, and the words that turn or qualify a statement.

use std::{
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use super::stemmer;

/// Pairs of opposites: the name of the axis, the words of one direction, and of the other.
const ANTONYMS: &[(&str, &str, &str)] = &[
    (
        "amount",
        "increase increased rise rose risen raise grew grow growth higher high more greater elevated \
         climb climbed doubled tripled larger most highest exceed exceeded longer extended above \
         bigger jumped soared",
        "decrease decreased decline declined reduce reduced reduction fall fell fallen drop dropped \
         lower lowered low less fewer diminish diminished shrink shrank shrunk smaller halved least \
         lowest shorter cut below sank plunged",
    ),
    (
        "quality",
        "improve improved better enhance enhanced superior outperform outperformed benefit best",
        "worsen worsened worse impair impaired inferior underperformed degraded deteriorated worst",
    ),
    (
        "keeping",
        "gained gain gains retain retained retains kept preserved",
        "lost lose loses losing",
    ),
    (
        "strength",
        "strong stronger strongly strengthened",
        "weak weaker weakly weakened",
    ),
    (
        "speed",
        "faster fastest accelerate accelerated fast quick quicker quickly rapid rapidly",
        "slower slowest slow slowly delayed slowed",
    ),
    (
        "sign",
        "positive positively",
        "negative negatively inversely",
    ),
    (
        "time",
        "before earlier early preceded prior earliest sooner",
        "after later late followed subsequent latest afterwards",
    ),
    (
        "action",
        "promote promoted activate activated stimulate stimulated enabled",
        "inhibit inhibited suppress suppressed block blocked prevent prevented",
    ),
    (
        "temperature",
        "warmer hotter hot warm",
        "cooler colder cold cool",
    ),
    ("likelihood", "likely possible", "unlikely impossible"),
];

/// Words that only look like words of direction once their suffixes are removed.
const NOT_DIRECTIONAL: &[&str] = &[
    "like",
    "position",
    "positions",
    "effect",
    "effects",
    "lateral",
    "last",
    "lasts",
    "light",
];

/// Words that negate what follows them.
const NEGATORS: &str = "not no never without rather instead neither nor none cannot fail fails failed failing hardly \
    scarcely barely non nothing nobody lacked lacks lack lacking absence unable didn't \
    doesn't don't isn't wasn't weren't aren't won't can't couldn't wouldn't hasn't \
    haven't hadn't shouldn't refute refuted";

/// Negators of other languages, without those that are words or signs in English texts.
const FOREIGN_NEGATORS: &str = "nicht kein keine keinen keiner keinem nie niemals ohne weder pas jamais \
    aucun aucune sans nunca ningún ninguna jamás tampoco nessun nessuna senza não nenhum nenhuma niet \
    geen nooit zonder inte ikke не нет ни без";

/// Words with which a text makes a statement open: a possibility, a condition, a former belief.
const HEDGES: &str = "may might could would if whether unless provided assuming possibly perhaps thought \
    believed assumed supposed presumed hypothesised hypothesized speculated alleged";

/// Words that soften a statement, so that the same without them says more.
const SOFTENERS: &str = "possible probably potentially suggest suggests suggested suggesting propose \
    proposed seems seem seemed appears appear appeared claimed expected expect projected predicted \
    associated association correlated correlation linked";

/// Words with which a text calls a statement wrong, or says it of the opposite.
const REFUTATIONS: &str = "wrongly falsely erroneously mistakenly incorrectly misleadingly refuted disproved \
    disproven debunked discredited myth misconception fallacy untrue false mistaken mistakenly \
    contrary unlike";

/// Words that say of how many a statement holds.
const QUANTIFIERS: &str = "all every most many some few several only both always often usually mostly \
    sometimes rarely seldom";

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
    numbers unlike according including minus";

/// A direction on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AxisDirection {
    pub(crate) axis: &'static str,
    pub(crate) up: bool,
}

/// What a word does to the statement it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordForce {
    Negates,
    Refutes,
    Hedges,
    Softens,
    Quantifies,
}

struct Lexicon {
    directions: HashMap<String, AxisDirection>,
    forces: HashMap<&'static str, WordForce>,
    stop_words: HashSet<&'static str>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(|| {
    let mut directions = HashMap::new();
    for (axis, one, other) in ANTONYMS {
        for (words, up) in [(one, true), (other, false)] {
            for word in words.split_whitespace() {
                let direction = AxisDirection { axis, up };
                directions.entry(word.to_owned()).or_insert(direction);
                // Inflected forms that the list omits: `increases`, `increasing`.
                directions.entry(stemmer::stem(word)).or_insert(direction);
            }
        }
    }
    let mut forces = HashMap::new();
    for (list, force) in [
        (NEGATORS, WordForce::Negates),
        (FOREIGN_NEGATORS, WordForce::Negates),
        (REFUTATIONS, WordForce::Refutes),
        (HEDGES, WordForce::Hedges),
        (SOFTENERS, WordForce::Softens),
        (QUANTIFIERS, WordForce::Quantifies),
    ] {
        for word in list.split_whitespace() {
            forces.entry(word).or_insert(force);
        }
    }
    Lexicon {
        directions,
        forces,
        stop_words: STOP_WORDS
            .split_whitespace()
            .chain(FOREIGN_NEGATORS.split_whitespace())
            .collect(),
    }
});

/// The direction of a word.
pub(crate) fn direction(word: &str) -> Option<AxisDirection> {
    if NOT_DIRECTIONAL.contains(&word) {
        return None;
    }
    let found = LEXICON.directions.get(word);
    found
        .or_else(|| LEXICON.directions.get(&stemmer::stem(word)))
        .copied()
}

/// What a word does to its statement.
pub(crate) fn force(word: &str) -> Option<WordForce> {
    LEXICON.forces.get(word).copied()
}

pub(crate) fn is_stop_word(word: &str) -> bool {
    LEXICON.stop_words.contains(word)
}
