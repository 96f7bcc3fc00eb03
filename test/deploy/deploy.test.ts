import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { listSettings } from '../../src/context/config.ts'
import { whyMissing } from '../cluster/programs.ts'

const missing = whyMissing('systemd-analyze')
const UNITS = globSync('deploy/systemd/*.{service,timer}')
/** Of 100; without any of the restrictions it is 96. */
const MAX_EXPOSED = '15'

/** A folder with the units, whose programs exist on this machine. */
function copyUnits(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tabbat-units-'))
  for (const unit of UNITS)
    writeFileSync(
      join(folder, basename(unit)),
      readFileSync(unit, 'utf8').replaceAll('/usr/local/bin/tabbat', process.execPath),
    )
  return folder
}

const analyze = (...args: string[]) =>
  execFileSync('systemd-analyze', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })

describe('the units of systemd', () => {
  if (missing !== undefined) return void it.skip(`are not tested: ${missing}`)

  it.each(UNITS.map((unit) => basename(unit)))('%s has no mistakes', (unit) => {
    expect(analyze('verify', '--man=no', join(copyUnits(), unit))).toBe('')
  })

  it.each(UNITS.filter((unit) => unit.endsWith('.service')))('%s gives the program few rights', (unit) => {
    const report = analyze('security', '--offline=true', `--threshold=${MAX_EXPOSED}`, unit)
    expect(report).toContain('Overall exposure level')
  })
})

describe.each(globSync('deploy/**/*', { withFileTypes: true }).filter((entry) => entry.isFile()))(
  '$name',
  ({ name, parentPath }) => {
    it('names settings that exist', () => {
      const known = new Set(listSettings().flatMap(({ env }) => [env, `${env}_FILE`]))
      const named = readFileSync(join(parentPath, name), 'utf8').matchAll(/\bTABBAT_[A-Z][A-Z_]*[A-Z]\b/g)
      // Those of the proxies are explained in their files.
      const own = /^TABBAT_(PROXY|NODE|POSTGRES|PATRONI)(_|$)/
      expect([...named].map(([env]) => env).filter((env) => !known.has(env) && !own.test(env))).toEqual([])
    })
  },
)
