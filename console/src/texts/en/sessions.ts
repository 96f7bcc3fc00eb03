import { defineTexts } from '../language.ts'

/** Open sessions, and proving again who you are. */
export const sessionsTexts = defineTexts('sessions', {
  own: 'Your sessions',
  of: (name: string) => `Sessions of ${name}`,
  none: 'There are no open sessions.',
  this: 'this one',
  browser: 'Browser',
  address: 'Address',
  method: 'Signed in with',
  opened: 'Opened',
  seen: 'Last seen',
  unknown: 'unknown',
  end: 'End',
  endLabel: (browser: string, id: string) => `End: ${browser}, ${id}`,
  endOthers: 'End all others',
  endAll: 'End all',
  sessions: 'Sessions',
  close: 'Close',
  methods: {
    password: 'password',
    code: 'password and code',
    recovery_code: 'password and recovery code',
    passkey: 'passkey',
    sso: 'single sign-on',
  },
  confirmTitle: 'Is it still you?',
  confirmText: 'It is a while since you signed in. Enter your password again to continue.',
  password: 'Your password',
  confirm: 'Continue',
  cancel: 'Cancel',
})
