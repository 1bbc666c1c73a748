extension Unicode.Scalar {
    /// False for control and format characters, and for others that nobody can see in an error.
    package var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .surrogate, .unassigned, .privateUse, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
