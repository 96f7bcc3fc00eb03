import { expect, it } from 'vitest'
import { command, isLoopback } from '../../src/settings/setting.ts'

it.each([
  '127.0.0.1',
  '127.255.0.9',
  '::1',
  '[::1]',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  'localhost',
  'LocalHost',
])('%s is this machine', (host) => expect(isLoopback(host)).toBe(true))

// The public sandbox key and the warnings about plain HTTP depend on this: TABBAT_HOST may be a name.
it.each([
  '127.evil.test',
  '127.0.0.1.nip.io',
  '0.0.0.0',
  '::',
  '::2',
  '10.0.0.1',
  '127',
  '',
  'a.localhost',
  'localhost.',
])('%j is not', (host) => expect(isLoopback(host)).toBe(false))

it.each([
  ['vault kv get -field=key  secret/tabbat', ['vault', 'kv', 'get', '-field=key', 'secret/tabbat']],
  [`'/opt/my tools/key' --name="a 'b' c"`, ['/opt/my tools/key', "--name=a 'b' c"]],
  [`key ""`, ['key', '']],
  ['echo $HOME | sort; `id` *', ['echo', '$HOME', '|', 'sort;', '`id`', '*']],
])('%s is split without a shell', (text, words) => expect(command(text)).toEqual(words))

it.each([`key 'a`, 'key "a', ''])('%j is not a command', (text) =>
  expect(() => command(text)).toThrow(/must be/),
)
