//! The words of the rules that belong to a language and not to a mode. Phrases are separated by
//! commas; a word that ends with `*` stands for all words that begin so.

/// The words that show what the words around them mean.
pub(crate) struct RuleLanguage {
    pub(super) is_latin: bool,
    /// Words that reverse a request in the same clause.
    pub(super) negations: &'static str,
    /// Words that, before a way to think, show that it is asked about or told about.
    pub(super) questions: &'static str,
    /// Words for work on a text; what follows them is the text.
    pub(super) text_tasks: &'static str,
    /// Words that may precede an instruction.
    pub(super) openers: &'static str,
    pub(super) greetings: &'static str,
    /// Words around a bare sum.
    pub(super) sum_words: &'static str,
}

pub(super) static LANGUAGES: [&RuleLanguage; 8] = [
    &ENGLISH,
    &GERMAN,
    &FRENCH,
    &SPANISH,
    &PORTUGUESE,
    &ITALIAN,
    &CHINESE,
    &JAPANESE,
];

pub(super) static ENGLISH: RuleLanguage = RuleLanguage {
    is_latin: true,
    negations: "not, no, never, don't, doesn't, didn't, won't, can't, cannot, dont, without, avoid, \
                stop, skip, nobody, neither, hardly, unless",
    questions: "what, how, why, who, when, which, whether, is, are, does, did, should, define, \
                explain, describe, tell me about, difference, meaning, if",
    text_tasks: "translate, summarize, summarise, rewrite, rephrase, proofread, paraphrase",
    openers: "please, can you, could you, would you, will you, can we, could we, let's, let us, help \
              me, help us, i want you to, i want to, i'd like you to, i'd like to, i need you to, we \
              want to, now, then, and, first, so",
    greetings: "hi, hello, hey, thanks, many thanks, thank you, bye, goodbye, good morning, good \
                afternoon, good evening, good night, there, all, everyone, again, so much, very \
                much, a lot",
    sum_words: "what is, what's, how much is, calculate, compute",
};

pub(super) static GERMAN: RuleLanguage = RuleLanguage {
    is_latin: true,
    negations: "nicht, kein*, nie, niemals, ohne, vermeide*, statt, weder",
    questions: "was, wie, warum, wieso, wer, wann, welche*, ob, ist, sind, soll*, erklär*, \
                definiere*, beschreib*, unterschied, bedeutet, wenn",
    text_tasks: "übersetz*, fasse, zusammenfassen, korrigier*, formuliere, umformulieren",
    openers: "bitte, kannst du, könntest du, können sie, könnten sie, würdest du, lass uns, hilf mir, \
              ich möchte, wir wollen, jetzt, dann, und, zuerst, also",
    greetings: "hallo, hi, hey, guten morgen, guten tag, guten abend, gute nacht, servus, moin, grüß \
                gott, grüezi, danke, danke schön, dankeschön, vielen dank, besten dank, herzlichen \
                dank, tschüss, auf wiedersehen, bis bald, zusammen, sehr, nochmals",
    sum_words: "was ist, was ergibt, was macht, wie viel ist, wieviel ist, berechne, rechne, gleich",
};

pub(super) static FRENCH: RuleLanguage = RuleLanguage {
    is_latin: true,
    negations: "ne, n', pas, sans, jamais, aucun*, évite*, arrête*",
    questions: "que, qu', quoi, quel*, comment, pourquoi, qui, quand, est ce, faut il, dois je, \
                explique*, définis, définissez, décris, différence, signifie, si",
    text_tasks: "tradui*, résum*, reformul*, corrige*",
    openers: "s'il te plaît, s'il vous plaît, stp, svp, peux tu, pourrais tu, pouvez vous, \
              pourriez vous, aide moi à, aidez moi à, je veux que tu, je voudrais que tu, \
              maintenant, puis, et, d'abord",
    greetings: "bonjour, bonsoir, salut, coucou, merci, merci beaucoup, merci bien, un grand merci, \
                au revoir, bonne nuit, bonne journée, à bientôt, à tous, encore",
    sum_words: "combien font, combien fait, combien ça fait, combien vaut, calcule, calculez, que \
                vaut, quel est le résultat de, égale",
};

pub(super) static SPANISH: RuleLanguage = RuleLanguage {
    is_latin: true,
    negations: "no, sin, nunca, jamás, ningun*, evit*, ni, tampoco",
    questions: "qué, cómo, por qué, quién, cuándo, cuál*, debería*, explica*, explícame, define, \
                defina, describe, diferencia, significa, si, es",
    text_tasks: "traduc*, traduzca, resum*, reescrib*, reformul*, corrig*, corrij*",
    openers: "por favor, puedes, podrías, puede, podría, ayúdame a, ayúdanos a, quiero que, quisiera \
              que, me gustaría que, vamos a, ahora, luego, y, primero",
    greetings: "hola, buenos días, buenas tardes, buenas noches, buenas, gracias, muchas gracias, mil \
                gracias, muchísimas gracias, adiós, hasta luego, hasta pronto, saludos, a todos, de \
                nuevo",
    sum_words: "cuánto es, cuánto son, cuánto da, cuánto vale, calcula, calcule, igual a",
};

pub(super) static PORTUGUESE: RuleLanguage = RuleLanguage {
    is_latin: true,
    negations: "não, nao, sem, nunca, jamais, nenhum*, evite*, evita*, nem, pare",
    questions: "o que, que é, como, por que, porque, quem, quando, qual, quais, deveria*, devo, \
                explique*, explica*, defina, descreva, diferença, significa, se",
    text_tasks: "traduz*, resum*, reescrev*, reformul*, corrij*, corrig*",
    openers: "por favor, você pode, você poderia, pode, poderia, podes, ajude me a, me ajude a, \
              ajuda me a, quero que, gostaria que, vamos, agora, depois, e, primeiro",
    greetings: "olá, oi, bom dia, boa tarde, boa noite, obrigado, obrigada, muito obrigado, muito \
                obrigada, valeu, tchau, adeus, até logo, até breve, a todos, de novo",
    sum_words: "quanto é, quanto são, quanto dá, quanto vale, calcule, calcula, igual a",
};

pub(super) static ITALIAN: RuleLanguage = RuleLanguage {
    is_latin: true,
    negations: "non, senza, mai, nessun*, evita*, né",
    questions: "che cosa, cosa, cos'è, come, perché, chi, quando, quale, quali, qual, dovrei, dovrebbe, \
                spiega*, definisci, descrivi, differenza, significa, se, è",
    text_tasks: "tradu*, riassum*, riscriv*, riformul*, corregg*",
    openers: "per favore, per piacere, puoi, potresti, può, potrebbe, aiutami a, aiutaci a, voglio \
              che, vorrei che, adesso, ora, poi, e, prima",
    greetings: "ciao, salve, buongiorno, buon giorno, buonasera, buona sera, buonanotte, buona notte, \
                grazie, grazie mille, molte grazie, tante grazie, arrivederci, a presto, a tutti, \
                ancora",
    sum_words: "quanto fa, quanto fanno, quant'è, quanto è, quanto vale, calcola, calcolate, uguale a",
};

pub(super) static CHINESE: RuleLanguage = RuleLanguage {
    is_latin: false,
    negations: "不, 别, 没, 無, 无需, 避免, 停止",
    questions: "什么, 怎么, 怎样, 如何, 为什么, 为何, 谁, 是否, 应该, 解释, 介绍, 定义, 区别, 意思, 如果, 是不是",
    text_tasks: "翻译, 总结, 概括, 改写, 润色, 校对",
    openers: "请, 请你, 请您, 麻烦, 能不能, 可以, 帮我, 帮忙, 让我们, 我们, 我们来, 我想, 你能, 现在, 先, 然后, 来",
    greetings: "你好, 您好, 大家好, 早上好, 早安, 下午好, 晚上好, 晚安, 谢谢, 谢谢你, 谢谢您, 多谢, 非常感谢, \
                感谢, 再见, 拜拜, 嗨",
    sum_words: "等于, 多少, 几, 是, 计算, 请, 算, 一下, 得",
};

pub(super) static JAPANESE: RuleLanguage = RuleLanguage {
    is_latin: false,
    negations: "ない, なく, せず, ずに, 不要, やめ, 避け, ません",
    questions: "とは, なぜ, どうやって, どのよう, 説明, 意味, 違い, べきですか, べきか, 何ですか, もし",
    text_tasks: "翻訳, 要約, 書き直, 校正, 添削, 訳し",
    openers: "では, まず, それでは, 次に, 一緒に, さあ",
    greetings: "こんにちは, こんばんは, おはよう, おはようございます, やあ, ありがとう, ありがとうございます, \
                どうもありがとう, どうもありがとうございます, 感謝します, さようなら, おやすみ, おやすみなさい, \
                またね, どうも, みなさん, 皆さん",
    sum_words: "は, いくつ, いくら, ですか, 何, になりますか, を, 計算して, 計算, ください, 足す, 答え",
};
