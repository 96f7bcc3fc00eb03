/** Levels of education with work that people of that level do, so that the two fit together. */
export const EDUCATION = [
  { level: 'None', professions: ['Farmer', 'Trader', 'Potter', 'Weaver'] },
  { level: 'Primary', professions: ['Farmer', 'Trader', 'Tailor', 'Bricklayer', 'Driver'] },
  {
    level: 'Secondary',
    professions: ['Trader', 'Electrician', 'Hairdresser', 'Mechanic', 'Caterer', 'Driver'],
  },
  {
    level: 'Diploma',
    professions: ['Nurse', 'Secretary', 'Surveyor', 'Laboratory Technician', 'Photographer'],
  },
  {
    level: 'Tertiary',
    professions: ['Accountant', 'Teacher', 'Civil Servant', 'Engineer', 'Banker', 'Journalist'],
  },
  { level: 'Postgraduate', professions: ['Lecturer', 'Lawyer', 'Physician', 'Architect', 'Pharmacist'] },
] as const

export const RELIGIONS = ['Christianity', 'Christianity', 'Islam', 'Islam', 'Traditional'] as const

export const BANKS = [
  { code: '058', branches: ['Allen Avenue', 'Wuse Market', 'Aba Road', 'Bodija'] },
  { code: '011', branches: ['Marina', 'Bompai', 'Okpara Avenue', 'Ring Road'] },
  { code: '033', branches: ['Broad Street', 'Garki', 'Zoo Road', 'New Market Road'] },
  { code: '044', branches: ['Adeola Odeku', 'Oba Adesida', 'Trans Amadi', 'Ahmadu Bello Way'] },
  { code: '057', branches: ['Ajose Adeogun', 'Maitama', 'Airport Road', 'Murtala Mohammed Way'] },
] as const

export const ACCOUNT_LEVELS = [
  'Level 1 - Low Level Accounts',
  'Level 2 - Medium Level Accounts',
  'Level 3 - High Level Accounts',
] as const
