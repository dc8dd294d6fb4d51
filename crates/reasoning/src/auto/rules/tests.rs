//! Texts as people write them, with the decisions of the rules.

use super::{phrases::LANGUAGES, *};

fn choice(name: &str) -> ModeChoice {
    ModeChoice::find(name).unwrap()
}

fn decide_mode(content: &str, hints: &[&str], may_return: bool) -> Option<&'static str> {
    let hints: Vec<String> = hints.iter().map(|hint| (*hint).to_owned()).collect();
    Some(decide(content, &hints, may_return)?.choice.as_str())
}

/// Each content is decided as `expected`, or left to the router.
#[track_caller]
fn assert_all_decided(expected: Option<&str>, contents: &[&str]) {
    let decided = contents.iter().map(|it| (*it, decide_mode(it, &[], true)));
    let wrong: Vec<_> = decided.filter(|(_, mode)| *mode != expected).collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

#[test]
fn the_phrases_are_of_eight_languages_and_of_modes_that_exist() {
    let languages: Vec<&str> = LANGUAGES.iter().map(|it| it.language.as_str()).collect();
    let [first, .., last] = languages.as_slice() else {
        panic!("{languages:?}");
    };
    assert_eq!((languages.len(), *first, *last), (8, "english", "japanese"));
    for request in LANGUAGES.iter().flat_map(|it| &it.requests) {
        assert!(
            ModeChoice::find(&request.mode).is_some(),
            "{}",
            request.mode
        );
    }
}

#[test]
fn greetings_and_sums_need_no_tool() {
    assert_all_decided(
        Some("direct"),
        &[
            "Hello!",
            "good morning everyone",
            "Hi there, thanks again!",
            "Guten Morgen zusammen!",
            "Danke schön",
            "Merci beaucoup !",
            "¡Buenos días!",
            "Muito obrigada",
            "Grazie mille, ciao!",
            "你好，谢谢！",
            "おはようございます。",
            "2+2",
            "2 + 2 =",
            "3*(4+5)",
            "2^10",
            "-5 + 3",
            "What is 17 * 23?",
            "what’s 12 - 5?",
            "7 / 2 = ?",
            "how much is (3 + 4) / 2 =",
            "Calculate 0.5 × 12.25",
            "Was ist 3 + 4?",
            "Wie viel ist 0,5 × 12,25?",
            "Combien font 7 + 8 ?",
            "¿Cuánto es 12 * 3?",
            "Quanto é 9 + 1?",
            "Quanto fa 6 × 7?",
            "25＋17等于多少？",
            "12×4は？",
            "８＋５はいくつですか？",
        ],
    );
}

#[test]
fn what_only_looks_trivial_is_left_to_the_router() {
    assert_all_decided(
        None,
        &[
            "What is the area of the region bounded by y=x^2 and y=x",
            "What is the meaning of life?",
            "What is the capital of France?",
            // Numbers that are no sum.
            "(555) 123-4567",
            "555 - 1234",
            "+1 555 123 4567",
            "What is 9/11?",
            "24/7",
            "50 / 50",
            "9 - 5",
            "2024-01-15",
            "2024 - 01 - 15 =",
            "1/2/2024",
            "1+1+1+1+1+1",
            "2 + 2 = 5",
            "18+",
            "x + 1",
            "3 + (4",
            "3) + (4",
            "1.2.3 + 4",
            "1234567 * 7654321",
            "16:9",
            "42",
            // Greetings that go on, or are none.
            "hi, my server is down",
            "Hello world",
            "Hello?",
            "Guten Tag, mein Server brennt",
            "Why?",
            "为什么？",
            "…",
            "🙂",
        ],
    );
    let long = "hello ".repeat(20);
    assert_all_decided(None, &[&long, "hello\nhello"]);
}

#[test]
fn explicit_requests_decide_in_eight_languages() {
    for (mode, contents) in [
        (
            "linear",
            &[
                "Solve this puzzle step by step: three doors, one prize",
                "Three doors hide one prize. Let's think it through step by step.",
                "Think carefully, step-by-step.",
                "Which door? Step by step, please.",
                "Don't guess, reason step by step.",
                "How many legs do three cats have, think step by step",
                "Use a chain of thought to find the murderer",
                "LÖSE DIE AUFGABE SCHRITT FÜR SCHRITT",
                "Lass uns Schritt für Schritt überlegen, warum der Motor stottert.",
                "Kannst du das bitte schrittweise durchrechnen und lösen?",
                "Resous ce probleme pas a pas.",
                "Raisonnons étape par étape : qui ment ?",
                "Resuelve el acertijo paso a paso, por favor.",
                "Vamos paso a paso: ¿quién miente?",
                "Vamos pensar passo a passo no problema do trem.",
                "Risolvi l'equazione un passo alla volta.",
                "请逐步推理，谁在说谎？",
                "我们一步步来分析这道题。",
                "順を追って考えてください。",
                "この問題をステップバイステップで解いてください",
            ][..],
        ),
        (
            "tree",
            &[
                "Plan the move with a tree of thoughts.",
                "Use reasoning_tree for this: where do we build?",
                "Please use tree mode. Where do we build?",
                "Where do we build? Use a tree of thoughts instead of a list.",
                "Plane den Umzug mit einem Baum von Gedanken.",
                "Verwende Tree of Thoughts für die Standortwahl.",
                "Construis un arbre de réflexion pour notre budget",
                "Quiero que uses un árbol de ideas sobre el presupuesto",
                "Monte uma árvore de pensamento para o orçamento",
                "Costruisci un albero dei pensieri per il bilancio",
                "使用Tree of Thoughts分析选址问题",
                "通过思考树来比较这些方案",
                "思考ツリーで比較してください",
            ],
        ),
        (
            "divergent",
            &[
                "Could you brainstorm some slogans for a bakery?",
                "Our shop is empty on Mondays. Please brainstorm ways to change that.",
                "Let's have a brainstorming session about names",
                "Think outside the box about city parking",
                "Brainstorme Namen für eine Katze",
                "Mach ein Brainstorming zu Vereinsfesten",
                "Lance une tempête d'idées pour le slogan",
                "Necesito una lluvia de ideas para el lema",
                "Vamos fazer um brainstorm sobre o lema",
                "Fai una tempesta di idee per il motto",
                "请进行头脑风暴，想想口号",
                "新商品についてブレストしましょう",
            ],
        ),
        (
            "got",
            &[
                "Build a graph of thoughts about the housing shortage",
                "Erstelle einen Gedankengraphen zur Wohnungsnot",
                "Avec un graphe de pensées, analyse la pénurie",
                "Crea un grafo de pensamientos sobre la vivienda",
                "Crie um grafo de pensamentos sobre a moradia",
                "Usa un grafo di pensieri per il problema delle case",
                "请构建一个思维图来分析住房问题",
                "思考のグラフを作って住宅問題を整理して",
            ],
        ),
        (
            "reflection",
            &[
                "Critique this argument: it rained, hence the street is wet",
                "Please reflect on your answer",
                "Reflect on the following: all swans I saw were white",
                "Kritisiere diesen Plan: wir starten ohne Test",
                "Kannst du meine Antwort kritisch reflektieren?",
                "Critiquez mon plan : nous commençons sans test",
                "Critica mi plan: empezamos sin probar",
                "Reflita sobre este argumento: todos fazem assim",
                "Rifletti su questo argomento: lo fanno tutti",
                "请批评这个论点：大家都这么做",
                "次の主張を批判してください。みんなそうしている。",
            ],
        ),
        (
            "backtracking",
            &[
                "This leads nowhere; go back to the checkpoint and try the other wall",
                "Backtrack and try again",
                "Kehre zum letzten Kontrollpunkt zurück",
                "Reviens au point de contrôle",
                "Regresa al punto de control y prueba otra cosa",
                "Volte ao ponto de verificação e tente de novo",
                "Torniamo al punto di controllo",
                "请回到上一个检查点",
                "前のチェックポイントに戻ってください",
            ],
        ),
        (
            "direct",
            &[
                "Just answer: is it raining in the song?",
                "Antworte direkt: Regnet es?",
                "Réponds directement : pleut-il ?",
                "Responde directamente: ¿llueve?",
                "Responda diretamente: chove?",
                "Rispondi direttamente: piove?",
                "请直接回答：下雨吗？",
                "直接答えてください。",
            ],
        ),
    ] {
        assert_all_decided(Some(mode), contents);
    }
}

#[test]
fn negations_questions_and_topics_are_no_requests() {
    assert_all_decided(
        None,
        &[
            // Negated.
            "Please don’t brainstorm names, pick one",
            "No brainstorming please, one plan is enough",
            "Do not think step by step",
            "Don't use a tree of thoughts here",
            "Bitte kein Brainstorming, mach einfach einen Plan",
            "Nutze keinen Gedankenbaum",
            "Brainstorme nicht",
            "N'utilise pas d'arbre de pensées",
            "Ne réfléchis pas étape par étape",
            "No pienses paso a paso",
            "Não use uma árvore de pensamentos",
            "Non fare un brainstorming",
            "不要头脑风暴，直接给我一个方案",
            "请不要一步一步思考",
            "思考の木を使わないでください",
            "ブレインストーミングはしないでください",
            // Asked or told about.
            "What is a tree of thoughts?",
            "How do I use a tree of thoughts?",
            "Explain how to think step by step",
            "Was ist ein Gedankenbaum?",
            "Wie macht man ein gutes Brainstorming?",
            "Comment utiliser un arbre de pensées ?",
            "¿Qué es una lluvia de ideas?",
            "Como usar uma árvore de pensamentos?",
            "Cos'è un albero di pensieri?",
            "什么是思维树？",
            "如何进行头脑风暴？",
            "思考の木とは何ですか",
            "The brainstorming session was a waste of time. How should I tell my boss?",
            "Brainstorm was a movie about a machine",
            "Brainstorm or decide?",
            // Topics.
            "Which decision tree is deeper, A or B?",
            "Compare PostgreSQL and SQLite for a small shop",
            "Draw a graph of y = x^2",
            "Our users hate the new step by step onboarding wizard. What do we do?",
            "Solve my problem with the step-by-step guide of the printer",
            "Eine Schritt-für-Schritt-Anleitung für Docker",
            "Kant's Critique of Pure Reason and its reception",
            "reflect on light: a mirror at 45 degrees",
            "Create a checkpoint in the game engine",
            "为什么天空是蓝色的？",
            // Quotations, lists and texts to work on.
            "“Brainstorm names for a cat” was his answer",
            "Translate to French: \"think step by step\"",
            "Translate to German: think step by step",
            "Übersetze ins Englische: Denke Schritt für Schritt",
            "翻译成英文：请一步一步思考",
            "Summarize this. Brainstorm names for a cat.",
            "```\nBrainstorm names for a cat\n```",
            "Today:\n- Brainstorm names for a cat",
            "1. Brainstorm names for a cat",
            // Two ways at once.
            "Brainstorm names for a cat. Use a tree of thoughts.",
        ],
    );
    let story = "It is grey. ".repeat(10);
    let middle = format!("{story}Brainstorm names for a cat. {story}");
    assert_all_decided(None, &[&middle]);
    let end = format!("{story}Brainstorm names for a cat.");
    assert_all_decided(Some("divergent"), &[&end]);
}

#[test]
fn a_hint_that_names_a_mode_decides() {
    for (hint, expected) in [
        ("tree", "tree"),
        ("mode: tree", "tree"),
        ("use tree", "tree"),
        ("reasoning_tree", "tree"),
        ("Tree of Thoughts", "tree"),
        ("Gedankenbaum", "tree"),
        ("árvore de pensamentos", "tree"),
        ("Use divergent reasoning", "divergent"),
        ("divergent", "divergent"),
        ("lluvia de ideas", "divergent"),
        ("ブレスト", "divergent"),
        ("linear", "linear"),
        ("step by step, please", "linear"),
        ("Schritt für Schritt", "linear"),
        ("étape par étape", "linear"),
        ("一步一步思考", "linear"),
        ("graph of thoughts", "got"),
        ("GoT", "got"),
        ("reasoning_got_init", "got"),
        ("reflection", "reflection"),
        ("mode: direct", "direct"),
        ("direct", "direct"),
        ("use backtracking", "backtracking"),
        ("reasoning_backtrack", "backtracking"),
    ] {
        let content = "Plan names for a cat";
        let hints = [hint, "about cats", hint];
        assert_eq!(
            decide_mode(content, &[hint], true),
            Some(expected),
            "{hint}"
        );
        assert_eq!(decide_mode(content, &hints, true), Some(expected), "{hint}");
    }
}

#[test]
fn other_hints_leave_it_to_the_router() {
    for hints in [
        &["graph"][..],
        &["use a graph"],
        &["direct reasoning"],
        &["decision tree"],
        &["linear algebra"],
        &["I've got a deadline"],
        &["not tree"],
        &["kein Baum"],
        &["use tree", "but never use tree alone"],
        &["use tree", "divergent"],
        &["use tree", "reasoning_backtrack"],
        &["keep it short"],
        &["compare them"],
        &["mode"],
        &["use"],
        &["请用树"],
    ] {
        assert_eq!(
            decide_mode("Names for a cat", hints, true),
            None,
            "{hints:?}"
        );
    }
    assert_eq!(
        decide_mode("Brainstorm names", &["about cats"], false),
        Some("divergent")
    );
    assert_eq!(
        decide_mode("Brainstorm names", &["not divergent"], false),
        None
    );
}

#[test]
fn what_the_content_asks_for_beside_a_named_mode_is_an_alternative() {
    let ruling = decide("Brainstorm names", &["use tree".to_owned()], false).unwrap();
    assert_eq!(ruling.choice, choice("tree"));
    let (other, why) = ruling.alternative.unwrap();
    assert_eq!(other, choice("divergent"));
    assert_eq!(why, "The content asks for it: \"brainstorm\".");
    let ruling = decide("Brainstorm names", &["divergent".to_owned()], false).unwrap();
    assert_eq!(ruling.alternative, None);
}

#[test]
fn backtracking_needs_somewhere_to_return_to() {
    for hints in [&["use backtracking"][..], &["reasoning_backtrack"], &[]] {
        let content = "Go back to the checkpoint";
        assert_eq!(decide_mode(content, hints, true), Some("backtracking"));
        assert_eq!(decide_mode(content, hints, false), None);
    }
}

#[test]
fn complexity_is_of_the_kind_and_moved_a_little() {
    let near = |left: f64, right: f64| (left - right).abs() < 1e-9;
    let proof = "prove that sqrt(2) is irrational";
    assert!(near(estimate_complexity(choice("linear"), proof), 0.4));
    assert!(near(estimate_complexity(choice("direct"), "2+2"), 0.1));
    assert!(near(
        estimate_complexity(choice("got"), "All hangs together."),
        0.7
    ));
    let more = "First this, then that; what follows? And why?";
    assert!(near(estimate_complexity(choice("tree"), more), 0.57));
    for choice in ModeChoice::all() {
        let (short, long) = (
            estimate_complexity(choice, ""),
            estimate_complexity(choice, &more.repeat(400)),
        );
        assert!(near(long, short + 0.2), "{short} {long}");
        assert!((0.0..=1.0).contains(&short) && (0.0..=1.0).contains(&long));
    }
}
