//! The rendered list of problems.

use deliberate_prompts::library::{ProblemSeverity, TemplateProblem, check_workspace};

use super::library_support::LibraryWorkspace;

#[test]
fn a_problem_is_drawn_with_its_line() {
    let workspace = LibraryWorkspace::new();
    workspace.write(
        "resources/prompts/general/p.yaml",
        "id: p\nname: P\ndescription: x\nuserMessageTemplate: x\nargumnets: []\n",
    );
    let (_, findings) = check_workspace(&workspace.options(), &|_| None);
    assert_eq!(findings.len(), 1);
    let drawn = findings[0].problem.render(findings[0].source.as_deref());
    insta::assert_snapshot!(drawn, @"
    warning: The field `argumnets` is unknown and is ignored.
     --> resources/prompts/general/p.yaml:5:1
      |
    5 | argumnets: []
      | ^^^^^^^^^
      |
      = help: Did you mean `arguments`?
    ");
}

#[test]
fn a_problem_without_a_line_and_past_the_end_is_drawn_too() {
    let workspace = LibraryWorkspace::new();
    workspace.write("resources/prompts/general/p.yaml", "id: p\nname: P\n");
    let (_, findings) = check_workspace(&workspace.options(), &|_| None);
    let mut problem = findings[0].problem.clone();
    assert!(
        problem
            .render(None)
            .contains("resources/prompts/general/p.yaml")
    );
    for (line, column) in [(0, 0), (1, 400), (400, 1), (2, 7)] {
        problem.line = Some(line);
        problem.column = Some(column);
        for source in ["", "é", "a\nb", "a\r\nb\r\n\u{1b}[31m"] {
            assert!(!problem.render(Some(source)).is_empty());
        }
    }
}

#[test]
fn templates_are_judged_by_whoever_knows_them() {
    let workspace = LibraryWorkspace::new();
    workspace.prompt("p");
    let (_, findings) = check_workspace(&workspace.options(), &|text| {
        text.file.starts_with("resources").then(|| TemplateProblem {
            severity: ProblemSeverity::Error,
            line: Some(text.line),
            column: None,
            message: "I don't like it.".to_owned(),
            help: None,
        })
    });
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].problem.line, Some(4));
    assert!(
        findings[0]
            .source
            .as_ref()
            .is_some_and(|source| source.starts_with("id: p"))
    );
}
