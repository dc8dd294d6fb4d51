//! The guard around every filter, and the sizes that one rendering may handle. The engine counts
//! instructions only, and one instruction can make much of a large value.

use deliberate_toolkit::is_abandoned;
use minijinja::{
    Environment, Error, ErrorKind, State,
    functions::range,
    value::{Rest, Value, ValueOrKwargs},
};

use super::super::value::{ValueSizeBudget, ValueTooLarge, absent_value, is_absent, measure};

/// The maximum number of entries of a list that a filter reads or makes: as many as `range` makes.
const MAX_ENTRIES: usize = 100_000;

/// The work of one entry of a list, compared with a byte of text. An entry that is a list itself
/// takes about as many bytes of memory.
const ENTRY_WORK: usize = 128;

/// The work of a number in a list that `range` makes: the length of its text.
const NUMBER_WORK: usize = 16;

/// How many times the largest text the entries of a list may have in all.
const MAX_LIST_FACTOR: usize = 4;

/// How many times the largest text one rendering may read and make in all. What its variables and
/// intermediate values take at the same time is less than that.
const MAX_WORK_FACTOR: usize = 16;

/// The bytes that one rendering has printed and handled.
#[derive(Debug, Default)]
pub(in crate::template) struct RenderUsage {
    printed: usize,
    handled: usize,
}

impl RenderUsage {
    /// Counts printed bytes, including those printed into captured blocks.
    pub(in crate::template) fn count_printed(
        &mut self,
        bytes: usize,
        most: usize,
    ) -> Result<(), Error> {
        check_abandoned()?;
        self.printed = self.printed.saturating_add(bytes);
        check_limit(self.printed, most)
    }

    /// Counts the bytes that filters read and make, and those that are measured.
    fn count_handled(&mut self, size: usize, most: usize) -> Result<(), Error> {
        check_abandoned()?;
        self.handled = self.handled.saturating_add(size);
        check_limit(self.handled, most.saturating_mul(MAX_WORK_FACTOR))
    }
}

/// Returns the largest size of a value in a template or expression whose tags have up to so many
/// operators that copy one: the copies may exist at the same time.
pub(in crate::template) fn largest_copied(copies: usize, most: usize) -> usize {
    most.saturating_mul(MAX_WORK_FACTOR)
        .checked_div(copies + 1)
        .map_or(most, |largest| largest.min(most))
}

/// Fails if a value is too large for so many copies.
pub(in crate::template) fn check_copies<'a>(
    copies: usize,
    mut values: impl Iterator<Item = &'a Value>,
    most: usize,
) -> Result<(), Error> {
    let largest = largest_copied(copies, most);
    let is_small = |value: &Value| measure(value, &mut ValueSizeBudget(largest)).is_ok();
    if largest == most || values.all(is_small) {
        Ok(())
    } else {
        Err(output_too_large())
    }
}

/// Fails if nobody waits for the rendering any more. Every print, filter and turn of a loop comes
/// here, so that a rendering ends soon after its deadline.
fn check_abandoned() -> Result<(), Error> {
    if is_abandoned() {
        return Err(Error::new(
            ErrorKind::InvalidOperation,
            "the template takes too long",
        ));
    }
    Ok(())
}

fn check_limit(used: usize, most: usize) -> Result<(), Error> {
    if used > most {
        Err(output_too_large())
    } else {
        Ok(())
    }
}

/// Creates the error for output that exceeds the limit.
pub(in crate::template) fn output_too_large() -> Error {
    Error::new(
        ErrorKind::WriteFailure,
        "the template produces more text than a prompt may contain",
    )
}

/// The value that a filter receives for an absent one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AbsentReplacement {
    /// Empty text.
    Text,
    /// An empty list, as in the rest of the template.
    List,
    /// No replacement: none.
    Nothing,
    /// The absent value itself.
    Unchanged,
}

/// Adds a filter that checks the sizes of what it reads and what it makes.
pub(super) fn add_guarded(
    environment: &mut Environment<'static>,
    name: &'static str,
    function: Value,
    absent: AbsentReplacement,
    most: usize,
) {
    let makes_parts = name == "batch" || name == "slice";
    environment.add_filter(
        name,
        move |state: &mut State<'_, '_>, given: Rest<ValueOrKwargs>| {
            let mut given = given.into_values();
            let mut work = 0_usize;
            for (index, value) in given.iter().enumerate() {
                let is_list = index == 0 && absent == AbsentReplacement::List;
                work = work.saturating_add(check_input(value, is_list, most)?);
            }
            if makes_parts {
                let parts = given.get(1).and_then(part_count).unwrap_or_default();
                check_limit(parts, MAX_ENTRIES)?;
                work = work.saturating_add(parts.saturating_mul(ENTRY_WORK));
            }
            if name == "sum" {
                check_sum_start(&given)?;
            }
            count(state, work, most)?;
            if let Some(first) = given.first_mut().filter(|it| is_absent(it)) {
                replace_absent(first, absent);
            }
            let made = function.call(state, &given)?;
            count(state, check_input(&made, false, most)?, most)?;
            Ok(made)
        },
    );
}

/// Fails if the value of a variable is larger than `largest`.
pub(super) fn hold_variable(
    state: &mut State<'_, '_>,
    value: Value,
    largest: usize,
    most: usize,
) -> Result<Value, Error> {
    let mut budget = ValueSizeBudget(largest);
    measure(&value, &mut budget).map_err(|ValueTooLarge| output_too_large())?;
    count(state, largest.saturating_sub(budget.0), most)?;
    Ok(value)
}

/// Counts captured text and returns an empty one.
pub(super) fn count_captured(
    state: &mut State<'_, '_>,
    bytes: usize,
    most: usize,
) -> Result<&'static str, Error> {
    count(state, bytes, most)?;
    Ok("")
}

fn count(state: &mut State<'_, '_>, work: usize, most: usize) -> Result<(), Error> {
    let used = state.get_or_insert_extension_with(RenderUsage::default);
    used.count_handled(work, most)
}

fn replace_absent(value: &mut Value, absent: AbsentReplacement) {
    *value = match absent {
        AbsentReplacement::Text => Value::from(""),
        AbsentReplacement::Nothing => Value::from(()),
        AbsentReplacement::List if value.is_undefined() => return,
        AbsentReplacement::List => absent_value(),
        AbsentReplacement::Unchanged => return,
    };
}

/// The number of parts that `batch` and `slice` are asked for, by place or by name.
fn part_count(value: &Value) -> Option<usize> {
    let named = || value.get_attr("count").ok()?.as_usize();
    value.as_usize().or_else(named)
}

/// Fails if `sum` would start with anything but a number: it would join texts or lists one by one.
fn check_sum_start(given: &[Value]) -> Result<(), Error> {
    let named = given.iter().filter_map(|it| it.get_attr("start").ok());
    let mut starts = given.get(2).cloned().into_iter().chain(named);
    let is_number = |it: &Value| it.is_undefined() || it.is_number() || it.is_kwargs();
    if starts.all(|it| is_number(&it)) {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::InvalidOperation,
        "`sum` adds numbers; use `join` for texts",
    ))
}

/// Returns the work of reading a value, in bytes of text, or fails if it is too large. A filter of
/// lists takes a text apart: every character becomes an entry.
fn check_input(value: &Value, is_list: bool, most: usize) -> Result<usize, Error> {
    if let Some(text) = value.as_str() {
        check_limit(text.len(), if is_list { MAX_ENTRIES } else { most })?;
        return Ok(text.len());
    }
    let entries = value.len().unwrap_or(1);
    check_limit(entries, MAX_ENTRIES)?;
    // Entries may all be the same long text, so that they take no memory until one text is made of
    // them.
    let largest = most.saturating_mul(MAX_LIST_FACTOR);
    let mut budget = ValueSizeBudget(largest);
    measure(value, &mut budget).map_err(|ValueTooLarge| output_too_large())?;
    Ok(entries.saturating_mul(ENTRY_WORK).max(largest - budget.0))
}

/// Makes the list of numbers that `range` makes, and counts them: each call makes a new one.
pub(super) fn counted_range(
    state: &mut State<'_, '_>,
    lower: isize,
    upper: Option<isize>,
    step: Option<isize>,
    most: usize,
) -> Result<Value, Error> {
    let numbers = range(lower, upper, step)?;
    let entries = numbers.len().unwrap_or(MAX_ENTRIES);
    count(state, entries.saturating_mul(NUMBER_WORK), most)?;
    Ok(numbers)
}
