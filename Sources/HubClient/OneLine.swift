/// The text of a server, made safe for one line of output.
enum OneLine {
    private static let maximumLength = 500

    /// One printable line of bounded length, whatever the server sent.
    static func text(_ text: String) -> String {
        let scalars = text.unicodeScalars.map { scalar in
            scalar.properties.generalCategory == .control || scalar.properties.isBidiControl ? " " : scalar
        }
        let line = String(String.UnicodeScalarView(scalars.prefix(maximumLength)))
        return line.split(separator: " ").joined(separator: " ")
    }
}
