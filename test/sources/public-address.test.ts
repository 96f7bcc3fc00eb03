import { expect, it } from 'vitest'
import { isPrivateAddress } from '../../src/sources/public-address.ts'

it.each([
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '[::1]',
  '::ffff:10.0.0.1',
  '::10.0.0.1',
  '64:ff9b::a00:1',
  '64:ff9b:1::a00:1',
  '2001:0:a00:1::',
  '2002:a00:1::',
  'fc00::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
])('%s is private', (address) => {
  expect(isPrivateAddress(address)).toBe(true)
})

it.each(['8.8.8.8', '2606:4700::1111', '2001:4860:4860::8888', 'api.example.com'])('%s is not', (address) => {
  expect(isPrivateAddress(address)).toBe(false)
})
