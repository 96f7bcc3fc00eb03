import { defineTexts } from '../language.ts'

/** Passkeys: on the page Your account, when signing in, and when proving again who you are. */
export const passkeysTexts = defineTexts('passkeys', {
  title: 'Passkeys',
  intro:
    'A passkey signs in without a password: with the fingerprint, face or PIN of a device, or with a security key.',
  none: 'Your account has no passkey.',
  unavailable:
    'This browser offers passkeys only over https or at http://localhost, and not for an IP address.',
  add: 'Add a passkey',
  name: 'Name',
  nameHelp: 'To tell your passkeys apart, for example: work laptop.',
  host: 'For',
  added: 'Added',
  used: 'Last used',
  never: 'never',
  remove: 'Remove',
  removeLabel: (name: string) => `Remove the passkey ${name}`,
  removeQuestion: (name: string) => `Remove the passkey ${name}?`,
  removeEffect: 'It no longer signs in. Delete it on the device too.',
  known: 'This device has a passkey for this account already.',
  notFinished: 'The browser did not finish: it was cancelled, took too long, or found no passkey.',
  signIn: 'Sign in with a passkey',
  confirm: 'Use a passkey',
})
