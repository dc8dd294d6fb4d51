//! The folded form in which names and titles are compared.

pub(crate) use deliberate_citations::fold_text;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accents_and_marks_go() {
        assert_eq!(fold_text(" José O’Brien—Ångström "), "jose obrien angstrom");
        assert_eq!(fold_text("Mu\u{308}ller & Łoś"), "muller los");
        assert_eq!(fold_text("α-Synuclein"), "α synuclein");
        assert_eq!(fold_text("Nguyễn"), "nguyen");
        assert_eq!(fold_text("?!"), "");
    }
}
