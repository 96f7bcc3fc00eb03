import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { findCheckpointFile, readCheckpoints } from '../../src/audit/checkpoint-file.ts'
import { appendCheckpoint, CHECKPOINT_FILE, readLastCheckpoint } from '../../src/audit/checkpoint-folder.ts'

let folder: string
const toCheckpoint = (number: number, body = 'x'.repeat(300)) => ({
  time: `2026-01-05T09:30:${String(number).padStart(2, '0')}.000Z`,
  body,
  signature: 'signature',
})
const readTimes = async (path: string) => {
  const times: (string | undefined)[] = []
  for await (const checkpoint of readCheckpoints(findCheckpointFile(path))) times.push(checkpoint?.time)
  return times
}

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabbat-checkpoints-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

it('a folder without checkpoints has no last one', async () => {
  expect(await readLastCheckpoint(folder)).toBeUndefined()
  expect(await readLastCheckpoint(join(folder, 'missing'))).toBeUndefined()
})

it('a full file becomes a part, the part before it is compressed, and no checkpoint is lost', async () => {
  const place = mkdtempSync(join(folder, 'parts-'))
  const written = Array.from({ length: 12 }, (_each, number) => toCheckpoint(number))
  for (const checkpoint of written) {
    await appendCheckpoint(place, checkpoint, 1000)
    expect(await readLastCheckpoint(place)).toEqual(checkpoint)
  }
  expect(readdirSync(place).toSorted()).toEqual([
    'checkpoints-2026-01-05T09-30-03.000Z.log.gz',
    'checkpoints-2026-01-05T09-30-07.000Z.log.gz',
    'checkpoints-2026-01-05T09-30-11.000Z.log',
  ])
  expect(await readTimes(place)).toEqual(written.map(({ time }) => time))
  expect(await readTimes(join(place, 'checkpoints-2026-01-05T09-30-03.000Z.log.gz'))).toHaveLength(4)
})

it('a damaged part is refused', async () => {
  const place = mkdtempSync(join(folder, 'damaged-'))
  for (let number = 0; number < 8; number += 1) await appendCheckpoint(place, toCheckpoint(number), 1000)
  const part = join(place, 'checkpoints-2026-01-05T09-30-03.000Z.log.gz')
  truncateSync(part, 60)
  await expect(readTimes(place)).rejects.toThrow('is damaged or incomplete')
})

it('finds the last checkpoint behind an incomplete line, and one longer than a read', async () => {
  const place = mkdtempSync(join(folder, 'tail-'))
  await appendCheckpoint(place, toCheckpoint(1))
  const long = toCheckpoint(2, 'y'.repeat(400_000))
  await appendCheckpoint(place, long)
  writeFileSync(join(place, CHECKPOINT_FILE), '{"time":"2026-01-05T09:31:00.000Z","bo', { flag: 'a' })
  expect(await readLastCheckpoint(place)).toEqual(long)
})

it('reads the end of a file that is larger than the longest text', async () => {
  const place = mkdtempSync(join(folder, 'large-'))
  const file = openSync(join(place, CHECKPOINT_FILE), 'w')
  // A sparse file: it takes no space.
  writeSync(file, `\n${JSON.stringify(toCheckpoint(3))}\n`, 600 * 1024 * 1024)
  closeSync(file)
  expect(await readLastCheckpoint(place)).toEqual(toCheckpoint(3))
})
