import { secrets } from 'muster';
`${secrets.get('admin')}`;
