//! Solutions of the hard functions in Python, which check the tests of the tasks.

/// Solutions in Python, written from the prompts. `{…}` is what the prompt says about the kind.
pub(super) fn solution(prompt: &str) -> String {
    let says = |words: &str| {
        if prompt.contains(words) {
            "True"
        } else {
            "False"
        }
    };
    let at_least = |words: &str| {
        let after = prompt.split_once(words).unwrap().1;
        after.trim_start().split(' ').next().unwrap().to_owned()
    };
    if prompt.contains("shorten(text)") {
        let least = at_least("run of at least");
        format!(
            "import re\ndef shorten(text):\n  return re.sub(r'(.)\\1*', lambda m: str(len(m[0])) + m[1] if len(m[0]) >= \
             {least} else m[0], text)"
        )
    } else if prompt.contains("move_vowels(") {
        let by = if prompt.contains("by one vowel") {
            1
        } else {
            2
        };
        format!(
            "def move_vowels(text):\n  places = [i for i, c in enumerate(text) if c in 'aeiou']\n  out = list(text)\n  for k, i in \
             enumerate(places):\n    out[places[(k + {by}) % len(places)]] = text[i]\n  return ''.join(out)"
        )
    } else if prompt.contains("best_run_sum(") {
        "def best_run_sum(numbers, limit):\n  best = now = 0\n  for n in numbers:\n    now = now + n if n > limit else 0\n    best \
         = max(best, now)\n  return best"
            .to_owned()
    } else if prompt.contains("longest_run(") {
        "def longest_run(numbers, limit):\n  best = now = 0\n  for n in numbers:\n    now = now + 1 if n > limit else 0\n    best = \
         max(best, now)\n  return best"
            .to_owned()
    } else if prompt.contains("covered_length(") {
        "def covered_length(intervals):\n  return len({x for a, b in intervals for x in range(a, b)})".to_owned()
    } else if prompt.contains("nth_repeated(") {
        let least = at_least("occur at least");
        format!(
            "from collections import Counter\ndef nth_repeated(numbers, n):\n  values = sorted((v for v, c in \
             Counter(numbers).items() if c >= {least}), reverse=True)\n  return values[n - 1] if len(values) >= n else None"
        )
    } else if prompt.contains("digit_steps(") {
        let power = if prompt.contains("squares") { 2 } else { 1 };
        format!(
            "def digit_steps(number):\n  steps = 0\n  while number > 9 and steps < 20:\n    number = sum(int(d) ** {power} for d in \
             str(number))\n    steps += 1\n  return steps"
        )
    } else if prompt.contains("shift(text") {
        "def shift(text, by):\n  def one(c):\n    for s, sign in (('abcdefghijklmnopqrstuvwxyz', 1), \
         ('ABCDEFGHIJKLMNOPQRSTUVWXYZ', -1), ('0123456789', 1)):\n      if c in s: return s[(s.index(c) + sign * by) % \
         len(s)]\n    return c\n  return ''.join(map(one, text))"
            .to_owned()
    } else if prompt.contains("depth(text") {
        "import re\ndef depth(text):\n  text = re.sub(r'[^][()]', '', text)\n  deep = 0\n  while '()' in text or '[]' in text:\n    \
         text = re.sub(r'\\(\\)|\\[\\]', '', text)\n    deep += 1\n  return -1 if text else deep"
            .to_owned()
    } else if prompt.contains("top_word(") {
        format!(
            "def top_word(text):\n  words = text.lower().split()\n  if not words: return None\n  most = max(map(words.count, \
             words))\n  top = [w for w in words if words.count(w) == most]\n  return top[-1] if {} else sorted(top)[0]",
            says("comes last")
        )
    } else {
        format!(
            "def zigzag(rows):\n  out = []\n  for i, row in enumerate(rows):\n    for x in (row[::-1] if i % 2 else row):\n      if \
             {} and out and out[-1] == x: continue\n      out.append(x)\n  return out",
            says("is left out")
        )
    }
}
