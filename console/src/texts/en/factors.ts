import { defineTexts } from '../language.ts'

/** Second factors: on the page Your account, when signing in, and when a role requires one. */
export const factorsTexts = defineTexts('factors', {
  title: 'Second factor',
  intro:
    'With a second factor, the password alone no longer signs in. Use an authenticator app such as Aegis, 1Password or Google Authenticator, or passkeys.',
  none: 'Your account has no second factor.',
  app: 'Authenticator app',
  notSetUp: 'not set up',
  since: 'set up',
  setUpApp: 'Set up an authenticator app',
  removeApp: 'Remove the authenticator app',
  removeAppQuestion: 'Remove the authenticator app?',
  removeAppEffect: 'You then sign in without its codes.',
  remove: 'Remove',
  scan: 'Scan this picture with the app, then enter the code that it shows.',
  picture: 'QR code for the authenticator app',
  manual: 'Or enter this secret in the app',
  secret: 'the secret',
  code: 'Code',
  codeHelp: 'Six digits from the app.',
  confirm: 'Confirm',
  codesTitle: 'Recovery codes',
  codesShown:
    'Each of these codes signs you in once, with your password, if you lose the second factor. They are not shown again: print them, or keep them in a password manager.',
  codesLeft: (count: number) => `${count} left`,
  renew: 'Make new recovery codes',
  renewQuestion: 'Make new recovery codes?',
  renewEffect: 'The earlier ones no longer work.',
  signInCode: 'Code or recovery code',
  signInHelp:
    'From your authenticator app, or one of your recovery codes. If you have a passkey, use it instead.',
  requiredTitle: 'Set up a second factor',
  requiredText: (role: string) =>
    `Accounts with the role ${role} must have a second factor. Set one up to continue.`,
  signOut: 'Sign out',
  done: 'Continue',
  yes: 'yes',
  no: 'no',
  reset: 'Reset second factor',
  resetQuestion: (name: string) => `Delete the second factors of ${name}?`,
  resetEffect: (name: string) =>
    `Use this if ${name} has lost all second factors. Check first that the request comes from ${name}: afterwards the password alone is enough to sign in. All sessions of ${name} end.`,
})
