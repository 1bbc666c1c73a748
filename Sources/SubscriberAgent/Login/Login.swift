import Formats
import FoundationEssentials
import HostSystem
import HubProtocol

/// A user's sign-in at an app backend, as the profile stores it.
struct Login: Sendable, Equatable, Codable {
    /// The authorities that must have signed the app backend's certificate.
    enum Authority: String, Sendable, Codable {
        /// Those of the hub, as stored in the profile.
        case hub
        /// Those of the app backend: ``LoginFile/authorityName``.
        case own
    }

    let user: String
    let backend: String
    /// Never logged.
    let token: String
    /// The expiry in ISO 8601, as the app backend wrote it.
    let expires: String
    let authority: Authority?
    /// True if the user has allowed plain HTTP to another machine.
    let allowsPlainHTTP: Bool

    /// The name in the form for comparisons, which ignore case.
    var key: String { user.lowercased() }
}

/// The login of a profile on disk, readable by this user only.
struct LoginFile: Sendable {
    static let name = "login.json"
    /// The file of authorities that came with ``Login/backend``, in PEM.
    static let authorityName = "backend-ca.pem"

    enum State: Sendable, Equatable {
        case absent
        /// The file exists but cannot be read now, so its user does not count as logged out.
        case unreadable(String)
        case present(Login)
    }

    private let directory: StateDirectory

    init(_ directory: StateDirectory) { self.directory = directory }

    var path: String { directory.file(Self.name) }
    var authorityPath: String { directory.file(Self.authorityName) }

    func state() -> State {
        do throws(HostError) {
            let text = try PrivateFile.read(path)
            guard let login = try? JSONReader.decode(Login.self, from: text, limits: .stored) else {
                return .unreadable("cannot use '\(path)': it is not a login")
            }
            return .present(login)
        } catch {
            return error.isMissing ? .absent : .unreadable("\(error)")
        }
    }

    func write(_ login: Login) throws(HostError) {
        // Strings and a Boolean.
        guard let text = try? JSONEncoder.plain.text(login) else {
            throw HostError("cannot write", path, because: "the login cannot be encoded")
        }
        try PrivateFile.write(text + "\n", to: path)
    }

    func remove() throws(HostError) {
        try HostFile.remove(path)
        try HostFile.remove(authorityPath)
    }
}
