import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { say, strong } from '../app/terminal.ts'
import { checkProof, type ProofRow } from '../audit/check-proof.ts'
import { prove } from '../audit/prove.ts'
import { UserError } from '../errors.ts'
import { findPublicKey, readNamedFile, toSigner } from './audit-key.ts'
import { withStore } from './command-context.ts'

export function addAuditProofCommands(audit: Command, readReference: (text: string) => string): void {
  audit
    .command('public-key')
    .description('print the key with which others check checkpoints and proofs (PEM)')
    .action(() => withStore(async ({ keyring }) => say(toSigner(keyring).publicKey.trimEnd())))

  audit
    .command('prove')
    .description('write a proof that the outcome of a verification is in the audit log')
    .argument('<reference>', 'its request_reference', readReference)
    .option('--out <file>', 'where to write it (default: standard output)')
    .addHelpText(
      'after',
      `
Whoever has the proof and the public key can check it, without this server: tabbat audit check-proof FILE.
It names no person: the number is in it as a keyed hash. The format is described in docs/audit-format.md.`,
    )
    .action(runProve)

  audit
    .command('check-proof')
    .description('check a proof, offline')
    .argument('<file>', 'what tabbat audit prove wrote')
    .option('--public-key <file>', 'the public key of the log (default: that of the database here)')
    .option('--json', 'print an object for a program')
    .addHelpText('after', '\nEnds with 0 when the proof is good, with 1 when it is not.')
    .action(runCheckProof)
}

function runProve(reference: string, { out }: { out?: string }): Promise<void> {
  return withStore(async ({ store, keyring, config }) => {
    const checkpointDir = config.checkpointDir ?? config.dataDir
    const text = await prove({ store, signer: toSigner(keyring), checkpointDir }, reference)
    if (out === undefined) return void process.stdout.write(text)
    try {
      writeFileSync(out, text)
    } catch {
      throw new UserError(`${out} cannot be written.`)
    }
    say(`The proof is in ${out}.`)
  })
}

type CheckOptions = { publicKey?: string; json?: true }

async function runCheckProof(file: string, { publicKey, json }: CheckOptions): Promise<void> {
  const bytes = readNamedFile(file)
  const result = checkProof(bytes, await findPublicKey(publicKey))
  if (!result.sound) process.exitCode = 1
  if (json) return say(JSON.stringify(result))
  if (!result.sound) return say(strong(`The proof is NOT good: ${result.reason}.`))
  say(strong('The proof is good.'))
  for (const line of tell(result.row, result.signedAt)) say(line)
}

const tell = (row: ProofRow, signedAt: string): string[] => [
  `The owner of the key signed on ${signedAt} that this is in the audit log (chain ${row.chain}, row ${row.sequence}):`,
  ...[
    ['time', row.time],
    ['reference', row.request_reference],
    ['operation', row.operation],
    ['mode', row.mode],
    ['outcome', row.outcome ?? `none recorded (${row.phase})`],
    ['key id', row.key_id],
    ['subject', row.subject],
    ['consent', row.consent_reference],
    ['released', row.fields_released],
  ]
    .filter(([, value]) => value !== null)
    .map(([name = '', value]) => `  ${name?.padEnd(10)} ${value}`),
]
