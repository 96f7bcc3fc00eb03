import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { archiveLog } from '../../../src/audit/archive/archive-log.ts'
import { openArchive } from '../../../src/audit/archive/read-archive.ts'
import { verifyArchive } from '../../../src/audit/archive/verify-archive.ts'
import { checkProof } from '../../../src/audit/check-proof.ts'
import { makeCheckpoint } from '../../../src/audit/checkpoint.ts'
import { findCheckpointFile, readCheckpoints } from '../../../src/audit/checkpoint-file.ts'
import { EXTRACT_FORMATS, type ExtractFormat } from '../../../src/audit/extract/extract-format.ts'
import { verifyExtract } from '../../../src/audit/extract/verify-extract.ts'
import { writeExtract } from '../../../src/audit/extract/write-extract.ts'
import { openCheckpoint } from '../../../src/audit/open-checkpoint.ts'
import { prove } from '../../../src/audit/prove.ts'
import { openStore } from '../../../src/context/store.ts'
import { UserError } from '../../../src/errors.ts'
import { toSignedHeaders } from '../../../src/webhooks/attempt.ts'
import { openLog, publicKey, signer, writeOldLog } from '../../audit/old-log.ts'
import { createSampleLog, type SampleLog } from '../../audit/sample-log.ts'
import { readGenuine, refusePersonal, type Target } from '../target.ts'

/** Files that a signature covers: only the genuine one is accepted. The key is the same in all tests, and signs nothing else. */
const WORDS = [
  'sound',
  'left',
  'right',
  '"signature":',
  '"body":',
  '"time":',
  '"record":',
  'checkpoint',
  '\ufeff',
]

const withSample = async <T>(work: (log: SampleLog) => Promise<T>): Promise<T> => {
  const log = await createSampleLog()
  return work(log).finally(log.close)
}

export async function openProofTarget(): Promise<Target> {
  const genuine = await readGenuine('proof.json', () =>
    withSample(({ store, signer: by, folder, references }) =>
      prove({ store, signer: by, checkpointDir: folder }, references[7] ?? ''),
    ),
  )
  return {
    seeds: [genuine],
    words: WORDS,
    run: (input) => {
      const result = checkProof(input, publicKey)
      if (!result.sound) return refusePersonal(result.reason)
      if (!input.equals(genuine)) throw new Error('a changed proof is accepted')
    },
  }
}

export async function openCheckpointTarget(): Promise<Target> {
  const genuine = await readGenuine('checkpoints.txt', () =>
    withSample(async ({ file }) => readFileSync(file)),
  )
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-fuzz-'))
  const path = join(folder, 'checkpoints.log')
  const known = new Set(genuine.toString().trimEnd().split('\n'))
  return {
    seeds: [genuine, ...[...known].slice(0, 2).map((line) => Buffer.from(toEvent(line)))],
    words: [...WORDS, '{"type":"audit.checkpoint","data":', '{"time":'],
    run: async (input) => {
      writeFileSync(path, input)
      try {
        for await (const checkpoint of readCheckpoints(findCheckpointFile(path)))
          if (
            checkpoint &&
            'heads' in openCheckpoint(checkpoint, publicKey) &&
            !known.has(JSON.stringify(checkpoint))
          )
            throw new Error('a changed checkpoint is accepted')
      } catch (error) {
        if (!(error instanceof UserError)) throw error
      }
    },
    close: async () => rmSync(folder, { recursive: true }),
  }
}

/** As a receiver of webhooks writes it. */
const toEvent = (line: string) =>
  `{"type":"audit.checkpoint","timestamp":"2026-01-05T09:30:00Z","data":${line}}\n`

export async function openExtractTarget(): Promise<Target> {
  const make = (format: ExtractFormat) =>
    withSample(({ store, signer: by, folder }) => {
      const signNow = async () => void (await makeCheckpoint(store.audit, by, folder))
      // Small enough that changes reach all of it.
      const filter = { key_ids: ['key00001'], operation: 'verify_nin' }
      const options = {
        format,
        view: 'rows',
        filter,
        shownFilter: { key: 'some' },
        keyNames: new Map(),
      } as const
      return text(
        Readable.from(
          writeExtract({ store, missingArchives: 0, signer: by, isDemo: false, signNow }, options),
        ),
      )
    })
  const genuine: Buffer[] = []
  for (const format of EXTRACT_FORMATS)
    genuine.push(await readGenuine(`extract.${format}`, () => make(format)))
  return {
    seeds: genuine,
    words: WORDS,
    run: async (input) => {
      const result = await verifyExtract(Readable.from([input]), publicKey)
      if (!result.sound) return refusePersonal(result.reason)
      if (!genuine.some((each) => each.equals(input))) throw new Error('a changed extract is accepted')
    },
  }
}

export async function openArchiveTarget(): Promise<Target> {
  const genuine = await readGenuine('old.audit.zst', makeArchive)
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-fuzz-'))
  const path = join(folder, 'fuzz.audit.zst')
  const verify = async (input: Buffer): Promise<string | undefined> => {
    writeFileSync(path, input)
    let file: Awaited<ReturnType<typeof openArchive>> | undefined
    try {
      file = await openArchive(path)
      const result = await verifyArchive(file, { publicKey })
      if ('reason' in result) return refusePersonal(result.reason) ?? undefined
      const content = await file.readBytes({ at: 0, length: file.contentBytes })
      return JSON.stringify([result, createHash('sha256').update(content).digest('hex')])
    } catch (error) {
      if (!(error instanceof UserError)) throw error
      return undefined
    } finally {
      await file?.close()
    }
  }
  const wanted = await verify(genuine)
  if (wanted === undefined) throw new Error('the genuine archive is refused')
  return {
    seeds: [genuine],
    run: async (input) => {
      const found = await verify(input)
      if (found !== undefined && found !== wanted) throw new Error('a changed archive is accepted')
    },
    close: async () => rmSync(folder, { recursive: true }),
  }
}

async function makeArchive(): Promise<Buffer> {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-fuzz-'))
  const store = await openStore({ dataDir: folder, databaseUrl: undefined })
  await writeOldLog(store, folder)
  const audit = await openLog(store, folder)
  const path = join(folder, 'old.audit.zst')
  await archiveLog(Date.UTC(2020, 2), path, { store, signer, audit, by: 'fuzz' })
  const bytes = readFileSync(path)
  await audit.close()
  await store.close()
  rmSync(folder, { recursive: true })
  return bytes
}

const SECRET = `whsec_${Buffer.alloc(24, 3).toString('base64')}`

/** Id, time, signature and body, one a line: a receiver with the library of the standard accepts only what was sent. */
export function openWebhookTarget(): Target {
  const at = Date.UTC(2026, 0, 5, 9, 30)
  const sent = {
    id: 'evt_fuzz',
    at,
    body: '{"type":"verification.completed","data":{"reference":"ver_fuzz"}}',
  }
  const headers = toSignedHeaders(sent, [SECRET])
  const genuine = Buffer.from([...Object.values(headers), sent.body].join('\n'))
  const webhook = new Webhook(SECRET)
  /** At the time of sending: the library refuses old times, and a run may take longer. */
  const verify = (body: string, given: Record<string, string>) => {
    const { now } = Date
    Date.now = () => at
    try {
      webhook.verify(body, given, { jsonParse: false })
    } finally {
      Date.now = now
    }
  }
  return {
    seeds: [genuine],
    words: ['v1,', 'v1a,', ' v1,', headers['webhook-signature'] ?? '', String(at / 1000)],
    run: (input) => {
      // Whatever is signed, a receiver accepts it.
      const any = input.toString()
      verify(any, toSignedHeaders({ ...sent, body: any }, [SECRET]))
      const [id = '', timestamp = '', signature = '', ...body] = input.toString().split('\n')
      const given = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
      try {
        verify(body.join('\n'), given)
      } catch {
        return
      }
      // The library reads the time as far as it is a number.
      const isSame =
        id === sent.id && Number.parseInt(timestamp, 10) * 1000 === at && body.join('\n') === sent.body
      if (!isSame) throw new Error('a changed webhook is accepted')
    },
  }
}
