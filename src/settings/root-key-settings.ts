import { command, rootKey, type Setting, setting } from './setting.ts'

/** Where the root key comes from. */
export const ROOT_KEY_SETTINGS = {
  rootKey: setting(
    'TABBAT_ROOT_KEY',
    undefined,
    rootKey,
    'Root key: 32 bytes as base64 or hex. Unset: the file root.key in the data folder, which is created at the first start.',
    true,
  ),
  rootKeyPrevious: setting(
    'TABBAT_ROOT_KEY_PREVIOUS',
    undefined,
    rootKey,
    'The previous root key, while TABBAT_ROOT_KEY is being rotated.',
    true,
  ),
  rootKeyCommand: setting(
    'TABBAT_ROOT_KEY_COMMAND',
    undefined,
    command,
    'Command that prints the root key, for example vault kv get -field=key secret/tabbat. It runs without a shell, for at most 10 seconds. Its words are separated by spaces; quotes keep spaces. It must not contain a secret. See docs/keys.md.',
  ),
} satisfies Record<string, Setting<unknown>>
