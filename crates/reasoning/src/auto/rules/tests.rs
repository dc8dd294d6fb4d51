//! Prompts as people write them, with the decisions of the rules.

use super::*;

fn choice(name: &str) -> ModeChoice {
    ModeChoice::find(name).unwrap()
}

fn decide_mode(content: &str, hints: &[&str], may_return: bool) -> Option<&'static str> {
    let hints: Vec<String> = hints.iter().map(|hint| (*hint).to_owned()).collect();
    let ruling = decide(content, &hints, may_return)?;
    assert!(ruling.confidence <= 0.9, "{content}");
    Some(ruling.choice.as_str())
}

/// Each content is decided as `expected`, or left to the router.
#[track_caller]
fn assert_all_decided(expected: Option<&str>, contents: &[&str]) {
    for content in contents {
        assert_eq!(decide_mode(content, &[], false), expected, "{content}");
    }
}

#[test]
fn greetings_sums_and_plain_facts_need_no_tool() {
    assert_all_decided(
        Some("direct"),
        &[
            "Hello!",
            "good morning everyone",
            "Thank you so much",
            "Hi there, thanks again!",
            "2+2",
            "2 + 2 =",
            "3*(4+5)",
            "2^10",
            "What is 17 * 23?",
            "what’s 12 - 5?",
            "what is 7 / 2",
            "7 / 2 = ?",
            "how much is (3 + 4) / 2 =",
            "Calculate 0.5 × 12.25",
            "-5 + 3",
            "What is the capital of France?",
            "what's the capital of burkina faso",
            "What is the currency of the Czech Republic?",
            "What is the chemical symbol of gold?",
            "What is the plural of ox?",
            "What is the abbreviation of kilometre?",
        ],
    );
}

#[test]
fn what_only_looks_plain_is_left_to_the_router() {
    assert_all_decided(
        None,
        &[
            "Who wrote this function and is it thread-safe",
            "who discovered the bug and how do we prevent it",
            "Who wrote Middlemarch?",
            "What is the area of the region bounded by y=x^2 and y=x",
            "What's the length of the shortest path in this maze?",
            "What is the population of bacteria after 5 hours",
            "What is the meaning of this error in my logs: ECONNRESET",
            "when was our database corrupted before it was built",
            "What is the meaning of life?",
            "What is the definition of justice?",
            "What is the capital of our company?",
            "What is the capital of the fund?",
            "What is the best capital of a fund?",
            "What is the capital of France and why?",
            "What is the abbreviation of this?",
            "What is the currency of choice for drug deals on the web",
            // Numbers that are no sum.
            "(555) 123-4567",
            "555-1234567",
            "555 - 1234",
            "+1 555 123 4567",
            "9/11",
            "What is 9/11?",
            "24/7",
            "what is 24/7",
            "50/50",
            "50 / 50",
            "7/2",
            "9 - 5",
            "7-11",
            "2024-01-15",
            "2024 - 01 - 15 =",
            "1/2/2024",
            "1-1-1-1-1-1-1",
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
            "night and morning",
            "there",
            "Why?",
            "fix it",
            "…",
            "🙂",
        ],
    );
    let long = format!("What is the capital of {}?", "far away ".repeat(10));
    assert_all_decided(None, &[&long, "hello\nhello"]);
}

#[test]
fn a_tree_is_for_weighing_one_thing_against_another() {
    assert_all_decided(
        Some("tree"),
        &[
            "Compare PostgreSQL and SQLite for a small shop",
            "Compare a wooden and a steel bridge for this river.",
            "Can you compare the trade-offs of renting and buying?",
            "Weigh the pros and cons of moving abroad",
            "Please help me weigh up the pros and cons of a four-day week.",
            "Discuss the trade-offs between speed and safety here",
            "I have two offers. Help me weigh my options.",
            "Use a tree of thoughts to plan the move",
        ],
    );
    assert_all_decided(
        None,
        &[
            "How do I compare two strings in Python?",
            "Write unit tests for the compare() function in utils.py",
            "Which option flag makes grep recursive?",
            "What options does tar have for gzip?",
            "I can't compare these prices because the spreadsheet is broken - fix the formula",
            "Translate to French: \"compare the pros and cons\"",
            "What is the time complexity of comparing two sorted lists?",
            "Compare the two files and check for a mismatch",
            "Compare strings a and b for a match",
            "Compare prices of flights to Rome and Milan for my trip",
            "Compare 0.9 and 0.11",
            "Compare notes with Bob for a minute",
            "Explore my options menu",
            "Compare?",
            "Do not compare the two, just tell me what happened",
            "The pros and cons of nuclear power were discussed at length yesterday",
            "How does pricing of stock options work?",
            "An incomparable evening in the gothic quarter",
        ],
    );
}

#[test]
fn divergent_is_for_ideas_that_are_asked_for() {
    assert_all_decided(
        Some("divergent"),
        &[
            "Brainstorm names for a cat café",
            "Could you brainstorm some slogans for a bakery?",
            "Let’s brainstorm how to win back our customers.",
            "Our shop is empty on Mondays. Please brainstorm ways to change that.",
            "I need some really creative ideas for a birthday",
            "Give me novel approaches to teaching fractions",
            "Find an UNCONVENTIONAL way to cool a server room",
            "Challenge my assumptions about remote work",
            "Think outside the box about city parking",
        ],
    );
    assert_all_decided(
        None,
        &[
            "I need an unconventional loan. Which bank?",
            "The original ideas of Kant about space: are they right?",
            "I have new ideas about the roof. Is this beam strong enough?",
            "The brainstorming session was a waste of time. How should I tell my boss?",
            "Nobody asked us to brainstorm, why did we?",
            "Brainstorm sessions bring us some ideas",
            "Brainstorm was a movie about a machine",
            "Brainstorm or decide?",
            "Let's brainstorm",
            "I need a creative director with ideas",
            "Find the novel with wild ideas",
            "Brainstorm ideas? No, thanks.",
            "Please don’t brainstorm names, pick one",
            "No brainstorming please, one plan is enough",
            "Define brainstorming",
            "I am reading a novel set in Lisbon, and it puzzles me",
        ],
    );
}

#[test]
fn reflection_is_for_reasoning_that_is_there() {
    assert_all_decided(
        Some("reflection"),
        &[
            "Review my reasoning: all swans I saw were white, so all are",
            "Assess this argument: it rained, hence the street is wet",
            "Please critique the following argument:\nIt rained. The street is wet.",
            "Find the flaws in my argument about rent control",
            "Could you poke holes in this line of reasoning?",
            "Reflect on our conclusion so far",
        ],
    );
    assert_all_decided(
        None,
        &[
            "reflect on this light problem: a mirror at 45 degrees",
            "Evaluate the integral of x squared from 0 to 1",
            "Check this function argument, it is null",
            "Review the argument parser",
            "Review my argument with my wife: she said yes",
            "Examine this proof of purchase",
            "Check my thinking cap order",
            "Check my conclusion for typos",
            "Critique this: <screenshot>",
            "Kant's Critique of Pure Reason and its reception",
            "Who is right?",
        ],
    );
}

#[test]
fn a_graph_is_for_factors_that_hang_together() {
    assert_all_decided(
        Some("got"),
        &[
            "Analyze the interconnected factors behind the decline of bees",
            "Help me untangle the many interacting causes of our churn",
            "Build a graph of thoughts about the housing shortage",
        ],
    );
    assert_all_decided(
        None,
        &[
            "merge branch 'ideas' into main",
            "Fix this bug: the merge function loses ideas from the second list",
            "This is a complex system of equations: x+y=3, x-y=1",
            "Combine my thoughts into an email to Bob",
            "Combine the insights of these three reports",
            "What is a complex system?",
            "Draw a graph of y = x^2",
        ],
    );
}

#[test]
fn linear_is_for_proofs_and_derivations() {
    assert_all_decided(
        Some("linear"),
        &[
            "Prove that the square root of 2 is irrational",
            "prove that sqrt(2) is irrational",
            "Prove that there is no largest prime.",
            "Derive the formula for compound interest",
            "Please, derive the equation of motion of a pendulum",
            "Solve for x: 3x + 2 = 11",
            "Calculate the probability of two sixes in three throws",
            "Solve this puzzle step by step: three doors, one prize",
            "Three doors hide one prize. Let's think it through step by step.",
        ],
    );
    assert_all_decided(
        None,
        &[
            "Should we calculate taxes ourselves or hire an accountant?",
            "Can you calculate which of three marketing strategies is best for us?",
            "Derive a marketing strategy for a coffee shop",
            "Our users hate the new step by step onboarding wizard. What do we do?",
            "Explain step by step how to install Docker",
            "Prove that you are human",
            "I want to prove that my boss is wrong",
            "This may prove useful later on, who knows",
            "Don’t prove that it works",
            "Is P equal to NP?",
            "Prove that",
        ],
    );
}

#[test]
fn two_wishes_work_on_texts_and_texts_with_more_in_them_are_left_to_the_router() {
    assert_all_decided(
        None,
        &[
            "Brainstorm ideas and compare them",
            "Brainstorm names for a cat. Prove that they rhyme.",
            "Prove that these options are equivalent",
            "Let's think step by step about the pros and cons of nuclear power",
            // Work on a text or a program.
            "Summarize: Brainstorm names for a cat.",
            "Please rewrite this. Brainstorm names for a cat.",
            "Brainstorm names for a cat and write them into names.txt",
            "Implement a tool that can brainstorm names",
            "Refactor compare() for a speedup",
            // Quotations.
            "“Brainstorm names for a cat” was his answer",
            "`Prove that x` fails to parse",
            "'Weigh the pros and cons of it' is what it's called",
            "```\nBrainstorm names for a cat\n```",
            // Lists, stories, questions besides.
            "Brainstorm names for a cat\nBuy milk\nCall Bob",
            "Today:\n- Brainstorm names for a cat",
            "1. Brainstorm names for a cat",
            "He rose. Brainstorm ideas for a day. He sat down.",
            "He likes lists, e.g. brainstorm names for a cat",
            "Brainstorm names for a cat. Which is best?",
            "Should I quit my job?",
        ],
    );
    let long = format!("Brainstorm names for a cat. {}", "It is grey. ".repeat(100));
    assert_all_decided(None, &[&long]);
}

#[test]
fn other_languages_are_left_to_the_router() {
    assert_all_decided(
        None,
        &[
            "为什么天空是蓝色的？",
            "比较一下这两个方案的优缺点",
            "Vergleiche die beiden Ansätze",
            "Brainstorme Namen für eine Katze",
            "Compare les avantages et les inconvénients de ces deux options",
            "Demuestra que la raíz de 2 es irracional",
            "¿Cuál es la capital de Francia?",
            "Почему?",
            "ما هي عاصمة فرنسا؟",
            "アイデアを出してください",
        ],
    );
}

#[test]
fn a_hint_that_asks_for_a_mode_decides() {
    for (hint, expected) in [
        ("mode: tree", "tree"),
        ("use tree", "tree"),
        ("reasoning_tree", "tree"),
        ("Tree of Thoughts", "tree"),
        ("Use divergent reasoning", "divergent"),
        ("divergent", "divergent"),
        ("linear", "linear"),
        ("reasoning_linear", "linear"),
        ("step by step, please", "linear"),
        ("graph of thoughts", "got"),
        ("GoT", "got"),
        ("reasoning_got_init", "got"),
        ("reflection", "reflection"),
        ("mode: direct", "direct"),
    ] {
        let content = "Brainstorm names for a cat";
        assert_eq!(
            decide_mode(content, &[hint], false),
            Some(expected),
            "{hint}"
        );
        let hints = [hint, "about cats", hint];
        assert_eq!(
            decide_mode(content, &hints, false),
            Some(expected),
            "{hint}"
        );
    }
}

#[test]
fn other_hints_leave_it_to_the_router() {
    for hints in [
        &["tree"][..],
        &["graph"],
        &["a tree"],
        &["use a graph"],
        &["direct"],
        &["direct reasoning"],
        &["backtracking"],
        &["decision tree"],
        &["linear algebra"],
        &["I've got a deadline"],
        &["not tree"],
        &["use tree", "but never use tree alone"],
        &["use tree", "divergent"],
        &["use tree", "reasoning_backtrack"],
        &["keep it short"],
        &["compare them"],
        &["creative ideas"],
        &["mode"],
        &["use"],
        &["请用树"],
    ] {
        for content in ["Brainstorm names for a cat", "2+2"] {
            assert_eq!(decide_mode(content, hints, false), None, "{hints:?}");
        }
    }
}

#[test]
fn what_the_content_wishes_beside_a_named_mode_is_an_alternative() {
    let ruling = decide("Brainstorm names", &["use tree".to_owned()], false).unwrap();
    assert_eq!(ruling.choice, choice("tree"));
    let (other, why) = ruling.alternative.unwrap();
    assert_eq!(other, choice("divergent"));
    assert_eq!(why, "The content asks for it: \"brainstorm names\".");
    let ruling = decide("Brainstorm names", &["divergent".to_owned()], false).unwrap();
    assert_eq!(ruling.alternative, None);
}

#[test]
fn backtracking_needs_somewhere_to_return_to() {
    for hint in ["use backtracking", "reasoning_backtrack"] {
        assert_eq!(decide_mode("go on", &[hint], false), None);
        assert_eq!(decide_mode("go on", &[hint], true), Some("backtracking"));
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
