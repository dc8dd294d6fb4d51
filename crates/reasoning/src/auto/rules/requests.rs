//! The explicit requests for each mode in eight languages: phrases that name the way to think. Words
//! that only occur in a problem, such as "compare" or "tree", are none.

use super::languages::{
    CHINESE, ENGLISH, FRENCH, GERMAN, ITALIAN, JAPANESE, PORTUGUESE, RuleLanguage, SPANISH,
};

/// Phrases that ask for a mode in one language; the notation is that of `RuleLanguage`.
pub(crate) struct ModeRequest {
    pub(super) language: &'static RuleLanguage,
    /// Words of which one must stand near a phrase; empty if a phrase is enough. A text of a phrase
    /// alone needs none either.
    pub(super) near: &'static str,
    /// Phrases that name the way to think. One that begins with `^` counts only where an instruction
    /// begins.
    pub(super) phrases: &'static str,
    /// Words of which one must follow a phrase; empty if any word may.
    pub(super) next: &'static str,
    /// Words that, after a phrase, show that it means something else.
    pub(super) unless_next: &'static str,
}

impl ModeRequest {
    pub(super) const fn new(
        language: &'static RuleLanguage,
        near: &'static str,
        phrases: &'static str,
    ) -> Self {
        Self {
            language,
            near,
            phrases,
            next: "",
            unless_next: "",
        }
    }

    const fn before(self, next: &'static str) -> Self {
        Self { next, ..self }
    }

    const fn not_before(self, unless_next: &'static str) -> Self {
        Self {
            unless_next,
            ..self
        }
    }
}

/// Verbs that go with the name of a way to think: "use a tree of thoughts".
const USE_EN: &str = "use, using, with, try, build, make, create, apply, via, draw, work in, do";
const USE_DE: &str = "nutz*, benutz*, verwend*, mit, bau*, erstell*, mach, mache, macht, machen, wende*, per, probier*";
const USE_FR: &str = "utilis*, avec, construi*, crée*, fai*, emploi*, essai*, applique*, via, par";
const USE_ES: &str = "usa, use, usar, usando, uses, usemos, utili*, con, constru*, crea*, haz, \
    haga*, emplea*, aplica*, mediante, prueba*, arma";
const USE_PT: &str = "usa, use, usar, usando, usemos, utili*, com, constru*, crie, criar, cria, \
    faça*, faz, fazer, monte, montar, apli*, por meio de";
const USE_IT: &str = "usa, usare, usando, usiamo, usate, utilizz*, con, costrui*, crea*, fai, facciamo, fare, applic*, tramite";
const USE_ZH: &str = "用, 以, 采用, 通过, 构建, 建立, 画, 搭建, 按";
const USE_JA: &str = "使っ, 使い, 使用し, 用い, 作っ, 作り, 構築し, 利用し, 活用し";

/// Verbs of thinking: "think step by step".
const THINK_EN: &str = "think*, reason*, solv*, work through, work out, work it, work this, go \
    through, walk through, calculat*, deriv*, prov*, analy*, figure, deduce, proceed, consider, take \
    it, take this, let's go, answer";

pub(crate) static LINEAR_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(
        &ENGLISH,
        THINK_EN,
        "step by step, one step at a time, step after step",
    )
    .not_before("guide*, tutorial*, instruction*, wizard*, onboarding, manual*, recipe*"),
    ModeRequest::new(
        &ENGLISH,
        USE_EN,
        "chain of thought, chain of thoughts, linear reasoning",
    ),
    ModeRequest::new(
        &GERMAN,
        "denk*, nachdenk*, überleg*, lös*, rechn*, berechn*, geh*, beweis*, herleit*, leite, \
         analys*, arbeit*, folger*, schließ*, antwort*, beantwort*, durchgehen, vor",
        "Schritt für Schritt, schrittweise, einen Schritt nach dem anderen",
    )
    .not_before("Anleitung*, Leitfaden, Tutorial*, Einführung"),
    ModeRequest::new(&GERMAN, USE_DE, "Gedankenkette*, chain of thought"),
    ModeRequest::new(
        &FRENCH,
        "réfléchi*, pens*, raisonn*, résou*, résolv*, calcul*, procéd*, analys*, démontr*, avanc*, \
         déduis*, cherch*, répond*, travaill*",
        "étape par étape, pas à pas, une étape à la fois",
    ),
    ModeRequest::new(
        &FRENCH,
        USE_FR,
        "chaîne de pensée, chaîne de pensées, chain of thought",
    ),
    ModeRequest::new(
        &SPANISH,
        "piens*, pens*, razon*, resuelv*, resolv*, calcul*, anali*, demuestr*, reflexion*, vamos, \
         deduc*, respond*, avanza*, procede*, ve",
        "paso a paso, paso por paso, un paso a la vez",
    ),
    ModeRequest::new(
        &SPANISH,
        USE_ES,
        "cadena de pensamiento, cadena de pensamientos, chain of thought",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        "pens*, raciocin*, resolv*, calcul*, anali*, prov*, reflit*, reflet*, vamos, deduz*, \
         respond*, avan*, proced*",
        "passo a passo, passo por passo, um passo de cada vez",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        USE_PT,
        "cadeia de pensamento, cadeia de pensamentos, chain of thought",
    ),
    ModeRequest::new(
        &ITALIAN,
        "pens*, ragion*, risolv*, calcol*, analizz*, dimostr*, riflett*, proced*, deduc*, dedur*, \
         rispond*, andiamo, vai",
        "passo dopo passo, passo per passo, passo passo, passo a passo, un passo alla volta",
    ),
    ModeRequest::new(
        &ITALIAN,
        USE_IT,
        "catena di pensiero, catena di pensieri, chain of thought",
    ),
    ModeRequest::new(
        &CHINESE,
        "思考, 想, 推理, 推导, 分析, 解, 算, 证明, 回答, 来, 考虑, 推算",
        "一步一步, 一步步, 逐步, 按步骤, 分步, 循序渐进",
    ),
    ModeRequest::new(&CHINESE, USE_ZH, "思维链, 思考链, chain of thought"),
    ModeRequest::new(
        &JAPANESE,
        "考え, 解い, 解き, 推論, 計算, 分析, 証明, 検討, 進め, 答え, 導, 思考",
        "一歩ずつ, 一歩一歩, ステップバイステップ, ステップごとに, 段階的に, 順を追って, 順序立てて, step by step",
    ),
    ModeRequest::new(&JAPANESE, USE_JA, "思考の連鎖, 思考連鎖, chain of thought"),
];

pub(crate) static TREE_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(
        &ENGLISH,
        USE_EN,
        "tree of thoughts, tree of thought, thought tree, tree of approaches",
    ),
    ModeRequest::new(
        &GERMAN,
        USE_DE,
        "Gedankenbaum*, Baum von Gedanken, Baum der Gedanken, Baum aus Gedanken, Denkbaum, tree of \
         thoughts, tree of thought",
    ),
    ModeRequest::new(
        &FRENCH,
        USE_FR,
        "arbre de pensées, arbre de pensée, arbre des pensées, arbre de réflexion, tree of \
         thoughts, tree of thought",
    ),
    ModeRequest::new(
        &SPANISH,
        USE_ES,
        "árbol de pensamientos, árbol de pensamiento, árbol de ideas, tree of thoughts, tree of \
         thought",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        USE_PT,
        "árvore de pensamentos, árvore de pensamento, árvore de ideias, tree of thoughts, tree of \
         thought",
    ),
    ModeRequest::new(
        &ITALIAN,
        USE_IT,
        "albero di pensieri, albero dei pensieri, albero del pensiero, albero di pensiero, tree of \
         thoughts, tree of thought",
    ),
    ModeRequest::new(
        &CHINESE,
        USE_ZH,
        "思维树, 思考树, 思想树, 思维之树, tree of thoughts, tree of thought",
    ),
    ModeRequest::new(
        &JAPANESE,
        USE_JA,
        "思考の木, 思考の樹, 思考ツリー, 思考のツリー, ツリー・オブ・ソート, tree of thoughts, tree of thought",
    ),
    ModeRequest::new(&JAPANESE, "", "思考の木で, 思考の樹で, 思考ツリーで")
        .not_before("す, は, し, も"),
];

pub(crate) static GRAPH_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(
        &ENGLISH,
        USE_EN,
        "graph of thoughts, graph of thought, thought graph",
    ),
    ModeRequest::new(
        &GERMAN,
        USE_DE,
        "Gedankengraph*, Graph von Gedanken, Graphen von Gedanken, Graph aus Gedanken, Graphen aus \
         Gedanken, Graph der Gedanken, Gedankennetz*, graph of thoughts",
    ),
    ModeRequest::new(
        &FRENCH,
        USE_FR,
        "graphe de pensées, graphe de pensée, graphe des pensées, graph of thoughts",
    ),
    ModeRequest::new(
        &SPANISH,
        USE_ES,
        "grafo de pensamientos, grafo de pensamiento, grafo de ideas, graph of thoughts",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        USE_PT,
        "grafo de pensamentos, grafo de pensamento, grafo de ideias, graph of thoughts",
    ),
    ModeRequest::new(
        &ITALIAN,
        USE_IT,
        "grafo di pensieri, grafo dei pensieri, grafo del pensiero, graph of thoughts",
    ),
    ModeRequest::new(
        &CHINESE,
        USE_ZH,
        "思维图, 思考图, 思想图, graph of thoughts",
    ),
    ModeRequest::new(
        &JAPANESE,
        USE_JA,
        "思考のグラフ, 思考グラフ, graph of thoughts",
    ),
    ModeRequest::new(&JAPANESE, "", "思考のグラフで, 思考グラフで").not_before("す, は, し, も"),
];

pub(crate) static DIVERGENT_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(&ENGLISH, "", "^brainstorm").not_before("session*, meeting*, is, was, or"),
    ModeRequest::new(
        &ENGLISH,
        USE_EN,
        "brainstorming, divergent thinking, divergent reasoning, brainstorm",
    ),
    ModeRequest::new(
        &ENGLISH,
        "have, start, run, let's, hold",
        "brainstorm, brainstorming",
    ),
    ModeRequest::new(&ENGLISH, "", "^think outside the box"),
    ModeRequest::new(&GERMAN, "", "^brainstorme, ^brainstormt, ^brainstormen")
        .not_before("nicht, pas"),
    ModeRequest::new(
        &GERMAN,
        "lass*, wollen, können, könn*, kannst, bitte, mach, mache, macht, machen, starte*, führ*, beginn*, veranstalt*, \
         nutz*, hilf",
        "Brainstorming, brainstormen, Brainstorm",
    ),
    ModeRequest::new(&FRENCH, "", "^brainstorme, ^brainstormons, ^brainstormez")
        .not_before("nicht, pas"),
    ModeRequest::new(
        &FRENCH,
        "fai*, lanc*, organis*, commen*, utilis*, démarr*, veux, voudrais",
        "brainstorming, brainstorm, remue-méninges, tempête d'idées, tempête de cerveaux, \
         brainstormer",
    ),
    ModeRequest::new(
        &SPANISH,
        "haz, haga*, hace*, genera*, realiz*, quiero, necesito, empe*, organi*, usa, use, usar, inici*",
        "lluvia de ideas, tormenta de ideas, brainstorming, brainstorm",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        "faç*, faz*, vamos, gere, realiz*, quero, comec*, organi*, usa, use, usar, inici*",
        "brainstorming, brainstorm, tempestade de ideias, tempestade cerebral, chuva de ideias, toró \
         de ideias",
    ),
    ModeRequest::new(
        &ITALIAN,
        "fai, facciamo, fare, fate, faccia, avvia*, inizi*, organizz*, usa, usare, voglio, vorrei",
        "brainstorming, brainstorm, tempesta di idee, tempesta di cervelli",
    ),
    ModeRequest::new(
        &CHINESE,
        "来, 请, 进行, 一下, 做, 开始, 帮, 用, 一起, 展开, 我们",
        "头脑风暴, 脑力激荡, 集思广益, 发散思维, 发散思考",
    ),
    ModeRequest::new(
        &JAPANESE,
        "して, しよう, しましょう, 行っ, やって, やろう, やりましょう, お願い, 使っ, 開始",
        "ブレインストーミング, ブレーンストーミング, ブレスト, 発散思考, 発散的思考",
    ),
];

pub(crate) static REFLECTION_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(
        &ENGLISH,
        "",
        "^reflect on, ^critique, ^criticize, ^criticise, ^reflect critically on, ^self-critique",
    )
    .before("this, these, that, my, our, your, the following, it, the above"),
    ModeRequest::new(
        &GERMAN,
        "",
        "^reflektiere, ^reflektieren sie, ^kritisiere, ^kritisieren sie, ^reflektiere über, \
         ^hinterfrage, ^reflektiere kritisch, ^kritisch reflektiere",
    )
    .before("dies*, mein*, unser*, dein*, ihre*, folgend*, die folgende*, den folgenden, das"),
    ModeRequest::new(
        &GERMAN,
        "kannst, könntest, könn*, bitte, lass",
        "reflektieren, kritisieren, kritisch hinterfragen, selbstkritisch prüfen",
    ),
    ModeRequest::new(&FRENCH, "", "^critique, ^critiquez, ^réfléchis de façon critique à, ^critiquons")
        .before("ce, cet, cette, ces, mon, ma, mes, notre, nos, ton, ta, le suivant, la suivante"),
    ModeRequest::new(
        &FRENCH,
        "fai*, peux, pourrais, pouvez, porte",
        "la critique de, une critique de, critiquer, un regard critique, ton autocritique, une \
         autocritique",
    ),
    ModeRequest::new(&SPANISH, "", "^critica, ^critique, ^reflexiona sobre, ^reflexione sobre").before(
        "este, esta, estos, estas, esto, mi, mis, nuestr*, tu, tus, su, lo siguiente, el siguiente, \
         la siguiente",
    ),
    ModeRequest::new(
        &SPANISH,
        "haz, haga, hagamos, puedes, podrías",
        "una crítica, la crítica, autocrítica, criticar, reflexionar sobre",
    ),
    ModeRequest::new(&PORTUGUESE, "", "^critique, ^critica, ^reflita sobre, ^reflete sobre").before(
        "este, esta, estes, estas, esse, essa, isto, isso, meu, minha, meus, minhas, noss*, seu, \
         sua, o seguinte, a seguinte, o meu, a minha",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        "faça, faz, façamos, pode, poderia",
        "uma crítica, a crítica, autocrítica, criticar, refletir sobre",
    ),
    ModeRequest::new(&ITALIAN, "", "^critica, ^criticate, ^rifletti su, ^riflettete su").before(
        "questo, questa, questi, queste, il mio, la mia, i miei, le mie, il seguente, la seguente, \
         nostr*, il nostro, la nostra, quanto segue",
    ),
    ModeRequest::new(
        &ITALIAN,
        "fai, facciamo, fate, puoi, potresti",
        "una critica, la critica, autocritica, criticare, riflettere su",
    ),
    ModeRequest::new(
        &CHINESE,
        "",
        "^反思, ^请反思, ^批评, ^批判, ^批判性地, ^点评, ^自我批评, ^审视",
    )
    .before("一下, 这, 下面, 下列, 以下, 我, 上面, 上述, 刚才, 并, 审视, 评价, 分析, 你"),
    ModeRequest::new(
        &JAPANESE,
        "",
        "批評して, 批判して, 批判的に検討して, 批判的に見直して, 内省して, 省察して, 振り返って改善, 自己批判して",
    ),
];

pub(crate) static BACKTRACKING_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(
        &ENGLISH,
        "back, return, revert, roll back, backtrack, reset, restore",
        "checkpoint, checkpoints",
    ),
    ModeRequest::new(&ENGLISH, "", "^backtrack"),
    ModeRequest::new(
        &GERMAN,
        "zurück*, kehr*, springe",
        "Checkpoint*, Kontrollpunkt*, Sicherungspunkt*, Prüfpunkt*",
    ),
    ModeRequest::new(
        &FRENCH,
        "revien*, reven*, retourn*, retour, reprend*, repar*",
        "point de contrôle, checkpoint, point de sauvegarde, point de reprise",
    ),
    ModeRequest::new(
        &SPANISH,
        "vuelv*, volv*, volvamos, regres*, retroced*, retorn*",
        "punto de control, checkpoint, punto de guardado, punto de restauración",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        "volte, volta, voltar, voltemos, retorn*, regress*, retroced*",
        "ponto de verificação, ponto de controle, ponto de controlo, ponto de salvamento, checkpoint",
    ),
    ModeRequest::new(
        &ITALIAN,
        "torna, torniamo, tornare, tornate, ritorn*, indietro, ripart*, riprend*",
        "checkpoint, punto di controllo, punto di salvataggio, punto di ripristino",
    ),
    ModeRequest::new(
        &CHINESE,
        "回, 返, 退, 恢复",
        "检查点, 存档点, 保存点, checkpoint",
    ),
    ModeRequest::new(
        &JAPANESE,
        "戻, 帰, 復帰",
        "チェックポイント, 保存点, セーブポイント, checkpoint",
    ),
];

pub(crate) static DIRECT_REQUESTS: &[ModeRequest] = &[
    ModeRequest::new(
        &ENGLISH,
        "",
        "^answer directly, ^just answer, ^answer right away, ^answer at once",
    ),
    ModeRequest::new(
        &GERMAN,
        "",
        "^antworte direkt, ^antworte sofort, ^antworten sie direkt",
    ),
    ModeRequest::new(
        &FRENCH,
        "",
        "^réponds directement, ^répondez directement, ^réponds tout de suite",
    ),
    ModeRequest::new(
        &SPANISH,
        "",
        "^responde directamente, ^responda directamente, ^contesta directamente",
    ),
    ModeRequest::new(
        &PORTUGUESE,
        "",
        "^responda diretamente, ^responde diretamente, ^responda direto",
    ),
    ModeRequest::new(
        &ITALIAN,
        "",
        "^rispondi direttamente, ^rispondi subito, ^rispondete direttamente",
    ),
    ModeRequest::new(&CHINESE, "", "^直接回答, ^直接告诉, ^直接答"),
    ModeRequest::new(&JAPANESE, "", "直接答えて, すぐに答えて, 直接回答して"),
];
