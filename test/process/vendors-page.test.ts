import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { checkVendorFile } from '../../src/sources/vendor-file/check.ts'
import { newDataDir } from './tabbat.ts'

const page = readFileSync('docs/vendors.md', 'utf8')
const [, section = ''] = /\n## Write a file in ten minutes\n([\s\S]*?)\n## /.exec(page) ?? []
const [, file = ''] = /```json\n([\s\S]*?)\n```/.exec(section) ?? []
const blocks = [...section.matchAll(/```sh\n([\s\S]*?)\n```/g)].map(([, block = '']) => block)

it('has an example that can be used', () => {
  expect(checkVendorFile(JSON.parse(file))).toHaveProperty('file')
})

it('has blocks that work when pasted one after the other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-page-'))
  const [vendor, port] = [await findFreePort(), await findFreePort()]
  const run = async (lines: readonly string[]) => {
    const pasted = lines
      .join('\n')
      .replace('simulate vendors.d/acme.json', `simulate vendors.d/acme.json --port ${vendor}`)
      .replaceAll(':9101', `:${vendor}`)
      .replaceAll(':8080', `:${port}`)
    const { stdout } = await promisify(execFile)(
      'bash',
      ['-c', `${pasted}\nkill $(jobs -p) 2> /dev/null; wait`],
      {
        cwd: folder,
        env: {
          PATH: `${resolve('bin')}:${process.env.PATH}`,
          TABBAT_DATA_DIR: newDataDir(),
          TABBAT_VENDORS_DIR: join(folder, 'vendors.d'),
          TABBAT_PORT: String(port),
          TABBAT_ADMIN_PORT: '0',
          TABBAT_LOG_LEVEL: 'silent',
          TABBAT_SHUTDOWN_DELAY: 'off',
        },
      },
    )
    return stdout
  }
  const [answers = '', begin = '', ...rest] = blocks
  expect(await run([answers, begin])).toContain('acme.json was written')
  const path = join(folder, 'vendors.d', 'acme.json')
  // The page shows what comes out, and what was added by hand.
  const { reference: _, ...nin } = JSON.parse(file).answers.nin
  const { samples: __, documentation, ...begun } = { ...JSON.parse(file), answers: { nin } }
  expect(withoutRemarks(JSON.parse(readFileSync(path, 'utf8')))).toEqual({
    ...begun,
    documentation: { ...documentation, read: expect.any(String) },
  })
  writeFileSync(path, file)
  const stdout = await run(rest)
  for (const text of [
    'acme.json: no problems.',
    'Not used: person.portrait',
    'There is no such person',
    'everything works',
    '"verification_status":"VERIFIED"',
    '2 calls, ₦100.00',
  ])
    expect(stdout).toContain(text)
})

const withoutRemarks = (file: unknown) =>
  JSON.parse(JSON.stringify(file, (name, value) => (name === '$comment' ? undefined : value)))

async function findFreePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  return port
}
