import { writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { checkProof, type ProofResult } from '../audit/check-proof.ts'
import { prove } from '../audit/prove.ts'
import { say, strong } from '../server/terminal.ts'
import { ARCHIVE_NOTE, ARCHIVE_OPTION, withWholeLog } from './archive-option.ts'
import { findPublicKey, readInputFile, toSigner } from './audit-key.ts'
import { EXISTING, withCommandContext, withStore } from './command-context.ts'
import { addHelp, EXIT_CODES } from './help.ts'
import { requireOutput, toWriteError } from './output-path.ts'

type ReadReference = (text: string) => string

export function addAuditProofCommands(audit: Command, readReference: ReadReference): void {
  addPublicKeyCommand(audit)
  addProveCommand(audit, readReference)
  addCheckProofCommand(audit)
}

function addPublicKeyCommand(audit: Command): void {
  const command = audit
    .command('public-key')
    .description('print the public key that checks checkpoints and proofs (PEM)')
    .action(() => withStore(async ({ keyring }) => say(toSigner(keyring).publicKey.trimEnd())))
  addHelp(command, {
    usesDatabase: true,
    exitCodes: EXIT_CODES,
    examples: {
      'audit public-key': 'print the key',
      'audit public-key > key.pem': 'write it to a file, to give to others',
    },
  })
}

function addProveCommand(audit: Command, readReference: ReadReference): void {
  const command = audit
    .command('prove')
    .description('write a proof that the outcome of a verification is in the audit log')
    .argument('<reference>', 'its request_reference', readReference)
    .option(...ARCHIVE_OPTION)
    .option('--out <file>', 'file to write (default: standard output)')
    .action(runProve)
  addHelp(command, {
    details: `Anyone with the proof and the public key can check it without this server: tabbat audit check-proof FILE. The proof names no person: the number is in it as a keyed hash. That it was made is recorded in the audit log. docs/audit-format.md describes the format.\n\n${ARCHIVE_NOTE}`,
    usesDatabase: true,
    settings: ['TABBAT_CHECKPOINT_DIR', 'TABBAT_AUDIT_ARCHIVE_DIR'],
    exitCodes: EXIT_CODES,
    examples: {
      'audit prove ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2': 'print the proof',
      'audit prove ver_01k8s2m4q0v6x8z2b4d6f8h0j2k4m6n8p0r2 --out proof.json': 'write it to a file',
    },
  })
}

function addCheckProofCommand(audit: Command): void {
  const command = audit
    .command('check-proof')
    .description('check a proof, offline')
    .argument('<file>', 'file that "tabbat audit prove" wrote')
    .option('--public-key <file>', 'public key of the log (default: the key of the database)')
    .option('--json', 'print a JSON object')
    .action(runCheckProof)
  addHelp(command, {
    details: 'With --public-key, no database is opened.',
    usesDatabase: true,
    exitCodes: { 0: 'the proof is good', 1: 'the proof is not good, or it could not be checked' },
    examples: {
      'audit check-proof proof.json --public-key key.pem': 'check a proof without a database',
      'audit check-proof proof.json --json': 'check it with the key of the database',
    },
  })
}

function runProve(reference: string, { archive, out }: { archive?: string[]; out?: string }): Promise<void> {
  if (out !== undefined) requireOutput(out, true)
  return withCommandContext(async (context) => {
    const { signer, config, audit } = context
    const checkpointDir = config.checkpointDir ?? config.dataDir
    const text = await withWholeLog(context, archive, ({ store, archived }) =>
      prove({ store, archived, signer, checkpointDir }, reference),
    )
    await audit.record([{ phase: 'audit_proved', outcome: 'ok', detail: `reference ${reference}` }])
    if (out === undefined) return void process.stdout.write(text)
    try {
      writeFileSync(out, text)
    } catch (error) {
      throw toWriteError(out, error)
    }
    say(`The proof is in ${out}.`)
  }, EXISTING)
}

type CheckOptions = { publicKey?: string; json?: true }

async function runCheckProof(file: string, options: CheckOptions): Promise<void> {
  const bytes = readInputFile(file)
  const { publicKey, database } = await findPublicKey(options.publicKey)
  const result = checkProof(bytes, publicKey)
  if (!result.sound) process.exitCode = 1
  if (options.json) return say(JSON.stringify({ ...result, ...(database && { database }) }))
  if (!result.sound) return say(strong(`The proof is NOT good: ${result.reason}.`))
  say(strong('The proof is good.'))
  for (const line of toProofLines(result)) say(line)
}

const toProofLines = ({ row, released, signedAt }: Extract<ProofResult, { sound: true }>): string[] => [
  `On ${signedAt}, the owner of the key signed that this row is in the audit log (chain ${row.chain}, row ${row.sequence}):`,
  ...[
    ['started', row.started_at ?? null],
    ['time', row.time],
    ['reference', row.request_reference],
    ['operation', row.operation],
    ['mode', row.mode],
    ['outcome', row.outcome ?? `none recorded (${row.phase})`],
    ['key id', row.key_id],
    ['subject', row.subject],
    ['consent', row.consent_reference],
    ['released', released],
  ]
    .filter(([, value]) => value !== null)
    .map(([name = '', value]) => `  ${name?.padEnd(10)} ${value}`),
]
