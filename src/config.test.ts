import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type ConfigError, listUnknownSettings, loadConfig } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'tabbat-config-'))
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content)
  return join(folder, name)
}

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    loadConfig(environment, '')
    return []
  } catch (error) {
    return (error as ConfigError).problems
  }
}

describe('the settings', () => {
  it('have a default each, so that none has to be set', () => {
    expect(loadConfig({}, '')).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: './data',
      sandbox: undefined,
      rateLimit: 3000,
      adminPort: 8081,
      logLevel: 'info',
    })
  })

  it('come from the environment first, then from .env', () => {
    const envFile = file('.env', 'TABBAT_PORT=1\nTABBAT_HOST="::1"\nTABBAT_RATE_LIMIT=off\n')
    expect(loadConfig({ TABBAT_PORT: '2', TABBAT_RATE_LIMIT: '' }, envFile)).toMatchObject({
      port: 2,
      host: '::1',
      rateLimit: 'off',
    })
  })

  it('report every problem at once, without repeating a secret', () => {
    const problems = problemsOf({
      TABBAT_PORT: 'high',
      TABBAT_SANDBOX: 'maybe',
      TABBAT_RATE_LIMIT: '0',
      TABBAT_PUBLIC_URL: 'verify.example.com',
      TABBAT_TRUST_PROXY: 'everyone',
      TABBAT_ROOT_KEY_FILE: '/nowhere/secret',
    })
    expect(problems).toHaveLength(6)
    expect(problems.join('\n')).toMatch(/TABBAT_PORT must be a whole number from 0 to 65535/)
    expect(problems.join('\n')).toMatch(/TABBAT_SANDBOX must be one of on, off/)
    expect(problems.join('\n')).toMatch(/TABBAT_ROOT_KEY cannot be read from the file/)
  })

  it('explain the port that Kubernetes sets', () => {
    expect(problemsOf({ TABBAT_PORT: 'tcp://10.0.0.1:80' })[0]).toMatch(/enableServiceLinks/)
  })

  it('read a secret from a file', () => {
    const path = file('root', `${'ab'.repeat(32)}\n`)
    expect(loadConfig({ TABBAT_ROOT_KEY_FILE: path }, '').rootKey).toBe('ab'.repeat(32))
  })

  it('know which variables are not theirs', () => {
    expect(
      listUnknownSettings({ TABBAT_PROT: '1', TABBAT_PORT: '1', TABBAT_ROOT_KEY_FILE: 'x', PATH: 'x' }, ''),
    ).toEqual(['TABBAT_PROT'])
  })
})
