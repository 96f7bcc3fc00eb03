import { defineTexts } from '../language.ts'

export const accountTexts = defineTexts('account', {
  thisSession: 'This session',
  name: 'Name',
  role: 'Role',
  idleEnd: 'Ends without activity',
  latestEnd: 'Ends at the latest',
  signOut: 'Sign out',
  passwordTitle: 'Change your password',
  currentPassword: 'Current password',
  passwordChanged: 'Password changed. Your other sessions have ended.',
  changePassword: 'Change password',
})
