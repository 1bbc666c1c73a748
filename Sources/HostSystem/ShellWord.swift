import Formats

extension String {
    /// The text quoted as one word for a shell, in hints and commands that people copy.
    package var shellWord: String {
        !isEmpty && hasOnlyLettersAndDigits(or: "/._-+:@,") ? self : "'\(replacing("'", with: "'\\''"))'"
    }
}
