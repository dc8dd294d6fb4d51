// Counts the checks of a conformance run: `count_checks.mjs FOLDER REVISION EXIT_CODE`. Prints a
// line with the counts and one for each failed check; exits with 1 if there was one, if a scenario
// has no checks, or if the suite itself failed.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

const [folder, revision, exitCode] = process.argv.slice(2);

// The suite has not implemented this one yet; it has a single check that is skipped.
const UNWRITTEN = new Set(['tasks-status-notifications']);

// Some of its checks are about requests of the handshake revisions, which the other one lacks.
const HALF = new Set(['http-standard-headers']);

const files = existsSync(folder) ? readdirSync(folder, { recursive: true }) : [];
// Names of scenarios may contain slashes, which make nested folders.
const runs = files.filter((file) => basename(file) === 'checks.json').map(dirname).sort();
const wrong = [];
let passed = 0;
for (const run of runs) {
  const checks = JSON.parse(readFileSync(join(folder, run, 'checks.json'), 'utf8'));
  const scenario = run.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '');
  const good = checks.filter((check) => check.status === 'SUCCESS').length;
  passed += good;
  if (good === 0 && !UNWRITTEN.has(scenario)) wrong.push(`${scenario}: no check passed`);
  for (const check of checks) {
    const skipped = check.status === 'SKIPPED' && HALF.has(scenario);
    const fine = ['SUCCESS', 'INFO'].includes(check.status) || skipped || UNWRITTEN.has(scenario);
    if (!fine) wrong.push(`${scenario}: ${check.status} ${check.id}: ${check.errorMessage ?? ''}`);
  }
}
if (runs.length === 0) wrong.push('no scenario was run');
if (exitCode !== '0') wrong.push(`the suite ended with ${exitCode}`);

console.log(`${revision}: ${runs.length} scenarios, ${passed} checks passed, ${wrong.length} wrong`);
for (const line of wrong) console.log(`  ${line}`);
process.exit(wrong.length === 0 ? 0 : 1);
