//! The described entry and trace, to the letter.
