export * from './gone';
