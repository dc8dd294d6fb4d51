//! Whatever command is given: no panic, tokens that cover it, faults that can be drawn, and a sound
//! one prints to text that reads as the same tree.
#![no_main]

use deliberate_command_language::{CommandLimits, DeclaredArgument, bind, parse, tokenize};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let end = tokenize(text).iter().fold(0, |end, token| {
        assert_eq!(token.span.start, end);
        token.span.end
    });
    assert_eq!(end, text.len());

    let limits = CommandLimits::default();
    let parsed = parse(text, &limits);
    for fault in &parsed.diagnostics {
        let _ = fault.render(&parsed.source, "command");
    }
    let declared = [DeclaredArgument {
        name: "text",
        ..DeclaredArgument::default()
    }];
    for step in parsed.command.steps() {
        let _ = bind(&step.args, &declared, &|name| name == "used");
    }
    if parsed.is_valid() {
        let printed = parsed.command.to_string();
        let again = parse(&printed, &limits);
        assert!(again.is_valid(), "{printed}");
        assert_eq!(again.command, parsed.command, "{printed}");
        assert!(parsed.command.expand_repeats(&limits).is_ok());
    }
});
