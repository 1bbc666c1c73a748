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

/// A failure that is reported in one line and ends the program.
struct Failure: Error {
    let status: ExitStatus
    let text: String
    let hint: String?

    init(_ status: ExitStatus, _ text: String, hint: String? = nil) {
        self.status = status
        self.text = text
        self.hint = hint
    }
}

/// The exit code, message and hint of each library error.
extension Failure {
    init(_ error: any Error) {
        switch error {
        case let failure as Failure: self = failure
        case let error as HostError: self.init(Self.status(error), "\(error)")
        case let error as CertificateProblem: self.init(error.host.map(Self.status) ?? .badConfiguration, "\(error)")
        case let error as AgentError: self.init(error.exit, error.description, hint: error.hint.map(Self.text))
        case let error as HubError: self.init(error)
        case let error as ConnectionStringError:
            if case .plainHTTP = error {
                let hint = "plain HTTP is allowed on this machine only, unless you pass --allow-plain-http"
                self.init(.badConfiguration, "\(error)", hint: hint)
            } else {
                self.init(.badConfiguration, "\(error)")
            }
        case let error as SampleFeedsError:
            let hint = "newswire's source directory has them in 'feeds/samples'; --samples PATH names another place"
            self.init(.badConfiguration, "\(error)", hint: hint)
        case let error as HandlerFailure: self.init(.failed, error.reason)
        case let error as HubProvisionError: self.init(.badConfiguration, "\(error)")
        case let error as HubKeysError:
            let hint: String? = if case .noHub = error { "start it once: newswire hub" } else { nil }
            self.init(.usage, "\(error)", hint: hint)
        case let error as FeedChoiceError:
            self.init(.usage, "\(error)", hint: error.isFile ? "pass --local for a file of your own" : nil)
        case let error as AccountError: self.init(.usage, "\(error)")
        case let error as ReplicatedLogError:
            self.init(error.isTemporary ? .tryLater : .badConfiguration, "\(error)")
        case let error as DatabaseFileError:
            self.init(error.isTemporary ? .tryLater : .badConfiguration, "\(error)", hint: Self.hint(error))
        case let error as DatabaseCopyError where error.isTemporary: self.init(.tryLater, "\(error)")
        case let error as FeedSearchError: self.init(.failed, TerminalText.safe("\(error)"))
        default:
            let problem = HubLogFile.problem(error)
            let status: ExitStatus = problem.map { $0.isTemporary ? .tryLater : .badConfiguration } ?? .failed
            self.init(status, problem?.reason ?? "\(error)")
        }
    }

    private init(_ error: HubError) {
        let hint = error.hint.map(Self.text)
        switch error {
        case .refused(401, ProtocolError.Code.expiredToken, _, _):
            let text = "the hub refuses a new token as expired: its clock and this machine's differ"
            self.init(.tryLater, text, hint: hint)
        case .unreachable, .malformedReply: self.init(.hubUnreachable, "\(error)", hint: hint ?? "is the hub running?")
        case .refused(let status, _, _, _) where [401, 403, 404].contains(status):
            self.init(.badConfiguration, "\(error)", hint: hint)
        case .unsupported: self.init(.badConfiguration, "\(error)", hint: hint)
        case .refused(let status, _, _, _) where status == 429 || status >= 500: self.init(.tryLater, "\(error)")
        case .refused, .cancelled: self.init(.failed, "\(error)")
        }
    }

    private static func hint(_ error: DatabaseFileError) -> String? {
        switch error.cause {
        case .newerVersion: "install that version, or restore a copy that this one has made"
        case .lost, .damaged:
            switch URL(filePath: error.path).lastPathComponent {
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
        case .temporary where URL(filePath: error.path).lastPathComponent == PublisherFiles.database:
            "nothing is lost: the next pass continues from here"
        case .notDurable, .rights, .temporary, .other: nil
        }
    }

    private static func status(_ error: HostError) -> ExitStatus { error.isTemporary ? .tryLater : .badConfiguration }

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
    case let error as SettingsError: try reportAll(error.problems)
    case let error as FeedListsError:
        try reportAll(error.problems, hint: error.missingDirectory.map(InstalledFeedLists.hint))
    default:
        let failure = Failure(error)
        Console.error(failure.text)
        if let hint = failure.hint { Console.hint(hint) }
        throw ExitCode(failure.status.rawValue)
    }
}

private func reportAll(_ problems: [some CustomStringConvertible], hint: String? = nil) throws(ExitCode) {
    for problem in problems { Console.error("\(problem)") }
    if let hint { Console.hint(hint) }
    throw ExitCode(ExitStatus.badConfiguration.rawValue)
}
