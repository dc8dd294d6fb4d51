//! Pairs of results that models write for one question.

use super::*;

fn same(one: &str, other: &str) -> bool {
    AnswerValue::parse(one).agrees(&AnswerValue::parse(other))
}

#[test]
fn forms_of_one_value_agree() {
    for (one, other) in [
        ("110", "Greta gets back 110 dollars."),
        ("36 passengers", "**36**"),
        ("$1,200", "1200.0"),
        ("$50", "5,000 cents"),
        ("\\boxed{42}", "The answer is 42."),
        ("x = -5", "−5"),
        ("2 hours", "2"),
        ("90 minutes", "1.5 hours"),
        ("10 000", "10000"),
        ("10\u{a0}000", "10,000"),
        ("three", "3"),
        ("three apples", "3 apples"),
        ("1/2", "0.5"),
        ("50%", "0.5"),
        ("50 percent", "50"),
        ("18:05", "6:05 pm"),
        ("The train arrives at 18:05", "18h05"),
        ("noon", "12:00"),
        ("2024-03-05", "March 5, 2024"),
        ("5 March 2024", "2024-3-5"),
        ("Yes.", "yes, because 7 is prime"),
        ("Yes because it is", "yes"),
        ("True", "yes"),
        ("It is Monday", "Monday"),
        ("Ann, Bo, Cy", "Ann → Bo → Cy"),
        ("Ann, Bo and Cy", "[ann, bo, cy]"),
        ("the red box", "Red box."),
        ("3,5", "3.5"),
    ] {
        assert!(same(one, other), "{one} | {other}");
        assert!(same(other, one), "{other} | {one}");
    }
}

#[test]
fn different_values_do_not_agree() {
    for (one, other) in [
        ("x < 3", "x > 3"),
        ("1, 2", "12"),
        ("2*5", "25"),
        ("2 hours", "2 minutes"),
        ("2 Stunden", "2 Minuten"),
        ("3 million", "3"),
        ("5 dozen", "5"),
        ("3x", "3"),
        ("B2", "2"),
        ("3/4", "3"),
        ("√5", "5"),
        ("10³", "10"),
        ("at least 3", "3"),
        ("not 3", "3"),
        ("minus 5", "5"),
        ("5", "-5"),
        ("$50", "50 cents"),
        ("5 GB", "5 MB"),
        ("5 kg", "5 lb"),
        ("20 °C", "20 °F"),
        ("5 km/h", "5 km"),
        ("5 minutes early", "5 minutes late"),
        ("18:05", "6:05"),
        ("18:05 on Monday", "18:05 on Tuesday"),
        ("March 5", "April 5"),
        ("Alice, 3", "Bob, 3"),
        ("2024-03-05", "2024-03-06"),
        ("yes", "no"),
        ("No, it is", "Nora"),
        ("true, false, true", "true, true, true"),
        ("no, yes", "no, no"),
        ("Yes, 3", "Yes, 4"),
        ("Ann, Bo", "Bo, Ann"),
        ("3 of 4", "3 of 5"),
    ] {
        assert!(!same(one, other), "{one} | {other}");
        assert!(!same(other, one), "{other} | {one}");
    }
}

#[test]
fn only_short_texts_are_comparable() {
    assert!(AnswerValue::parse("the red box").is_comparable());
    assert!(AnswerValue::parse("Greta gets back 110 dollars").is_comparable());
    assert!(!AnswerValue::parse("move the cache behind the queue and measure").is_comparable());
}

proptest::proptest! {
    #[test]
    fn any_text_agrees_with_itself(text in "\\PC{0,60}") {
        let value = AnswerValue::parse(&text);
        proptest::prop_assert!(value.agrees(&value));
    }

    #[test]
    fn agreement_is_symmetric(one in "[0-9a-c /%$.,:-]{0,12}", other in "[0-9a-c /%$.,:-]{0,12}") {
        proptest::prop_assert_eq!(same(&one, &other), same(&other, &one));
    }
}
