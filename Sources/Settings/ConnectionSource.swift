internal import HostSystem

/// The place of the connection string that is used.
package enum ConnectionSource {
    case file(String)
    /// The text of ``stringVariable``.
    case variable(String)

    package static let stringVariable = "NEWSWIRE_CONNECTION_STRING"
    /// The name of the credential in `LoadCredential=connection:…`.
    private static let credential = "connection"
    /// The text that the units' `SetCredential=` uses for a missing file; without it, systemd would not start them and
    /// would give no reason.
    package static let missing = "missing"

    /// Finds the source: the flag, the variable with the string itself, the configured `file`, or the unit's
    /// credential, in this order.
    package init?(flag: String?, file: String?, environment: [String: String]) {
        if let flag {
            self = .file(flag)
        } else if let text = environment[Self.stringVariable], !text.isEmpty {
            self = .variable(text)
        } else if let file {
            self = .file(file)
        } else {
            // A unit may have other credentials only.
            guard let path = Credentials.path(Self.credential, environment), HostFile.exists(path) else { return nil }
            self = .file(path)
        }
    }
}

/// The secrets that systemd's `LoadCredential=` passes to a unit.
package enum Credentials {
    /// - Returns: `nil` outside a unit with credentials.
    package static func path(_ name: String, _ environment: [String: String]) -> String? {
        guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") else { return nil }
        return "\(directory)/\(name)"
    }
}
