import AppBackend
import ArgumentParser
import Certificates
import Demonstration
import Foundation
import FeedLists
import FeedPublisher
import HostSystem
import HubClient
import HubProtocol
import HubServer
import NetworkAddresses
import OutboundHTTP
import PageServer
import ReplicatedLog
import SQLiteFiles
import Settings
import SubscriberAgent

/// An error that ends a command: its exit code, its lines for people, and advice.
protocol CommandError: Error {
    var exit: ExitStatus { get }
    /// One line for each problem.
    var lines: [String] { get }
    /// A step that may help, if there is one.
    var advice: String? { get }
}

extension CommandError {
    var lines: [String] { ["\(self)"] }
    var advice: String? { nil }
}

/// An error that can clear on its own; if it cannot, files or settings must be corrected.
protocol TemporaryError: CommandError {
    var isTemporary: Bool { get }
}

extension TemporaryError {
    var exit: ExitStatus { isTemporary ? .tryLater : .badConfiguration }
}

/// A failure that is reported in one line and ends the program.
struct Failure: CommandError {
    let status: ExitStatus
    let text: String
    let hint: String?

    init(_ status: ExitStatus, _ text: String, hint: String? = nil) {
        self.status = status
        self.text = text
        self.hint = hint
    }

    /// Creates the failure for an unknown name, with the known names as a hint.
    init(unknown kind: String, _ name: String, known: [String]) {
        let near = NearestName.of(name, among: known).map { "did you mean '\($0)'? " } ?? ""
        self.init(.usage, "unknown \(kind) '\(name)'", hint: "\(near)known are \(known.joined(separator: ", "))")
    }

    /// Converts any error to a failure.
    init(_ error: any Error) {
        if let error = error as? any CommandError {
            self.init(error.exit, error.lines.joined(separator: "; "), hint: error.advice)
        } else if let problem = HubLogFile.problem(error) {
            self.init(problem.isTemporary ? .tryLater : .badConfiguration, problem.reason)
        } else {
            self.init(.failed, "\(error)")
        }
    }

    var exit: ExitStatus { status }
    var lines: [String] { [text] }
    var advice: String? { hint }
}

// MARK: - Errors of libraries

extension HostError: TemporaryError {}
extension ReplicatedLogError: TemporaryError {}

extension CertificateProblem: TemporaryError {
    var isTemporary: Bool { host?.isTemporary ?? false }
}

extension SettingsError: CommandError {
    var exit: ExitStatus { .badConfiguration }
    var lines: [String] { problems.map(\.description) }
}

extension FeedListsError: CommandError {
    var exit: ExitStatus { .badConfiguration }
    var lines: [String] { problems.map(\.description) }
    var advice: String? { missingDirectory.map(InstalledFeedLists.hint) }
}

extension AgentError: CommandError {
    var advice: String? { hint.map(Failure.text) }
}

extension ConnectionStringError: CommandError {
    var exit: ExitStatus { .badConfiguration }
    var advice: String? { if case .plainHTTP = self { Failure.text(AgentHint.plainHTTP) } else { nil } }
}

extension SampleFeedsError: CommandError {
    var exit: ExitStatus { .badConfiguration }
    var advice: String? {
        "newswire's source directory has them in 'feeds/samples'; --samples PATH names another place"
    }
}

extension HandlerFailure: CommandError {
    var exit: ExitStatus { .failed }
    var lines: [String] { [reason] }
}

extension HubProvisionError: CommandError {
    var exit: ExitStatus { .badConfiguration }
}

extension HubKeysError: CommandError {
    var exit: ExitStatus { .usage }
    var advice: String? { if case .noHub = self { "start it once: newswire hub" } else { nil } }
}

extension FeedChoiceError: CommandError {
    var exit: ExitStatus { .usage }
    var advice: String? { isFile ? "pass --local for a file of your own" : nil }
}

extension AccountError: CommandError {
    var exit: ExitStatus { .usage }
}

extension DatabaseCopyError: CommandError {
    var exit: ExitStatus { isTemporary ? .tryLater : .failed }
}

extension DatabaseFileError: TemporaryError {
    var advice: String? {
        switch cause {
        case .newerVersion: "install that version, or restore a copy that this one has made"
        case .lost, .damaged:
            switch URL(filePath: path).lastPathComponent {
            case HubFiles.database:
                """
                restore a copy: newswire hub restore FILE; to begin anew, with new keys and without registrations: \
                newswire hub --new
                """
            case HubFiles.backend:
                """
                restore a copy: newswire hub restore FILE; to begin without users, move it and \
                '\(HubFiles.backendKey)' away
                """
            case HubFiles.pages: "to begin without sessions and invitations, move it and the files beside it away"
            case PublisherFiles.database:
                "repair it, or move it away: the next pass then records what the feeds contain and announces none of it"
            default: nil
            }
        case .temporary where URL(filePath: path).lastPathComponent == PublisherFiles.database:
            "nothing is lost: the next pass continues from here"
        case .notDurable, .rights, .temporary, .other: nil
        }
    }
}

extension HubError: CommandError {
    var exit: ExitStatus {
        switch self {
        case .unreachable, .malformedReply: .hubUnreachable
        case .refused(401, ProtocolError.Code.expiredToken, _, _): .tryLater
        case .refused(let status, _, _, _) where [401, 403, 404].contains(status): .badConfiguration
        case .unsupported: .badConfiguration
        case .refused(let status, _, _, _) where status == 429 || status >= 500: .tryLater
        case .refused, .cancelled: .failed
        }
    }

    var lines: [String] {
        guard case .refused(401, ProtocolError.Code.expiredToken, _, _) = self else { return ["\(self)"] }
        return ["the hub refuses a new token as expired: its clock and this machine's differ"]
    }

    var advice: String? {
        switch self {
        case .unreachable, .malformedReply: hint.map(Failure.text) ?? "is the hub running?"
        case .refused(let status, _, _, _) where ![401, 403, 404].contains(status): nil
        case .refused, .unsupported, .cancelled: hint.map(Failure.text)
        }
    }
}

// MARK: - Texts of hints

extension Failure {
    private static let clockHint = "correct the clock that is wrong; 'timedatectl' shows this machine's"

    private static let authorityHint = "check the file of certificate authorities that --ca-file or SSL_CERT_FILE names"

    static func text(_ hint: HubHint) -> String {
        switch hint {
        case .certificate(.unknownAuthority):
            """
            the hub's certificate is signed by an authority that is not trusted here: copy the file that 'newswire hub \
            certificate' shows on the hub's machine, and name the copy with --ca-file PATH
            """
        case .certificate(.otherName):
            "the hub's certificate is not valid for this name: add the name to the hub's 'host-names'"
        case .certificate(.notValidNow): "the hub's certificate has expired, or a clock is wrong"
        case .certificate(.unusableAuthorities): authorityHint
        case .certificate(.other): "check the hub's certificate: 'newswire hub certificate' shows it"
        case .listenersKey: "this key can only listen; 'newswire hub keys' shows the connection string that can send"
        case .key:
            """
            check the key in the connection string, and this machine's clock; 'newswire hub keys' shows your own hub's \
            keys, and with --namespace the keys that manage hubs
            """
        case .clock: clockHint
        case .rights: "the connection string's rule lacks a right that this command needs"
        case .hubName: "check the hub's name and the connection string's endpoint"
        case .noHub: "check that the connection string's endpoint is a notification hub"
        }
    }

    static func text(_ hint: PublishHint) -> String {
        switch hint {
        case .hub(let hint): text(hint)
        case .skippedDocument:
            "'newswire publish --force' reads it again; please report it as a bug"
        case .longRun: "'publish --watch' holds it as long as it runs"
        }
    }

    static func text(_ hint: FeedImportHint) -> String {
        switch hint {
        case .category: "pass --category NAME for feeds that are in no folder"
        case .trust: "pass --trust if the document is your own export"
        }
    }

    /// Joins a message of the publisher and its hint into one line.
    static func joined(_ text: String, _ hint: PublishHint?) -> String {
        [text, hint.map(Self.text) ?? ""].filter { !$0.isEmpty }.joined(separator: "; ")
    }

    static func text(_ hint: AgentHint) -> String {
        switch hint {
        case .hub(let hint): text(hint)
        case .clock: clockHint
        case .copiedState:
            "the state directory was copied, or restored from an old copy; start a new agent with an empty one"
        case .noStreams: "is it a newswire hub? other hubs have no streams"
        case .space: "free some space; the hub then sends the pending messages"
        case .outputSpace: "free some space, or raise the limit of file sizes; no message is lost"
        case .noConnectionString: Administrator.listenHint
        case .otherSubscriber: "change its choice with --categories or --language, or start another --profile"
        case .noCategories: "newswire subscribe --categories World,Sports; 'newswire categories' lists them"
        case .unknownCategory(let known):
            "\(known.isEmpty ? "the hub has no categories" : "known: \(known.joined(separator: ", "))"); "
                + "the hub knows a category after its publisher's first pass"
        case .language: "a language is the last part of a property's name: --language French shows 'News_French'"
        case .templateFile: "pass the path of a JSON file of at most \(TemplateChoice.maximumBytes) bytes"
        case .template:
            #"a template is a JSON object such as {"title":"$(title)","message":"$(News_French)","link":"$(link)"}"#
        case .handler: "pass the path of a program; it is not run by a shell"
        case .logIn: "log in: newswire login --user NAME"
        case .noBackend:
            """
            is the app backend running? 'newswire hub' serves it on its own port, 'newswire backend' on port 8788; \
            --backend https://HOST:PORT names its address
            """
        case .plainHTTP: "plain HTTP is allowed on this machine only, unless you pass --allow-plain-http"
        case .revokeToken(let user):
            "revoke it on the app backend's machine: 'newswire user tokens \(user)' shows the tokens"
        case .backendCertificate(.unknownAuthority):
            """
            the app backend's certificate is signed by an authority that is not trusted here: copy the file that \
            'newswire hub certificate' shows on its machine, and log in with --ca-file PATH
            """
        case .backendCertificate(.otherName):
            "the app backend's certificate is not valid for this name: add the name to its 'host-names'"
        case .backendCertificate(.notValidNow): "the app backend's certificate has expired, or a clock is wrong"
        case .backendCertificate(.unusableAuthorities): authorityHint
        case .backendCertificate(.other): "check the app backend's certificate"
        case .noDesktop: "run newswire in a desktop session, or omit --notify"
        case .noNotifications:
            "start a notification service, such as your desktop's or dunst, or omit --notify"
        case .notifications: "check the desktop's notification service, or omit --notify"
        }
    }
}

/// Prints the error of a command.
///
/// - Throws: The exit code of the program. Returns normally if the error is not a failure.
func report(_ error: any Error) throws {
    switch error {
    case is ExitCode, is ValidationError, is CleanExit: throw error
    // A signal stopped the program, or the reader closed standard output.
    case is CancellationError, is OutputClosed, HandlerFailure.outputClosed: return
    default:
        let failure = error as? any CommandError ?? Failure(error)
        for line in failure.lines { Console.error(line) }
        if let advice = failure.advice { Console.hint(advice) }
        throw ExitCode(failure.exit.rawValue)
    }
}
