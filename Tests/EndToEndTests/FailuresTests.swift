import FeedLists
import FeedPublisher
import HostSystem
import HubClient
import HubProtocol
import NetworkAddresses
import HubServer
import OutboundHTTP
import SubscriberAgent
import Testing

@testable import newswire

@Suite struct FailuresTests {
    private static let hubHints: [HubHint] = [
        .certificate(.unknownAuthority), .certificate(.otherName), .certificate(.notValidNow), .certificate(.other),
        .listenersKey, .key, .rights, .hubName, .noHub,
    ]
    private static let agentHints: [AgentHint] = [
        .clock, .copiedState, .noStreams, .space, .outputSpace, .noConnectionString, .otherSubscriber, .noCategories,
        .unknownCategory(known: []), .unknownCategory(known: ["World", "Sports"]), .language, .templateFile, .template,
        .handler, .noDesktop, .noNotifications, .notifications,
    ]

    @Test func `every hint is one line of its own, in small letters and without a period`() throws {
        let publishHints = [PublishHint.skippedDocument, .longRun].map(Failure.text)
        let hints = hubHints + agentHints + publishHints + FeedImportHint.allCases.map(Failure.text)
        for hint in hints {
            let first = try #require(hint.unicodeScalars.first)
            #expect(!first.properties.isUppercase && !hint.hasSuffix(".") && !hint.contains("\n"), "\(hint)")
        }
        #expect(Set(hints).count == hints.count)
    }

    private var hubHints: [String] { Self.hubHints.map(Failure.text) }
    private var agentHints: [String] { Self.agentHints.map(Failure.text) }

    private static let failures: [(error: any Error & Sendable, status: HostSystem.ExitStatus, hint: String?)] = [
        (HubError.unreachable("x"), .hubUnreachable, "is the hub running?"),
        (HubError.unreachable("x", .otherName), .hubUnreachable, Failure.text(HubHint.certificate(.otherName))),
        (refusal(401, ProtocolError.Code.invalidSignature.number), .badConfiguration, Failure.text(HubHint.key)),
        (refusal(401, ProtocolError.Code.claimRequired.number), .badConfiguration, Failure.text(HubHint.listenersKey)),
        (refusal(429, 42_900), .tryLater, nil), (refusal(503, 50_004), .tryLater, nil),
        (refusal(409, 40_900), .failed, nil),
        (AgentError(.usage, "x", hint: .language), .usage, Failure.text(AgentHint.language)),
        (ConnectionStringError.plainHTTP(host: "h"), .badConfiguration, "plain HTTP is allowed on this machine only"),
        (ConnectionStringError.repeatedPart("p"), .badConfiguration, nil),
        (HostError("cannot write to", "f", code: 28), .tryLater, nil),
        (HostError("cannot open", "f", code: 2), .badConfiguration, nil),
        (HubKeysError.noHub(path: "p"), .usage, "start it once: newswire hub"),
        (HubKeysError.noRule("r", known: []), .usage, nil),
        (choice("file:///f"), .usage, "pass --local"), (choice("x"), .usage, nil),
    ]

    private static func choice(_ url: String) -> any Error & Sendable {
        do throws(FeedChoiceError) {
            _ = try FeedLists([]).chosen(urls: [url], isLocal: false, hasCategory: false)
            return CancellationError()
        } catch {
            return error
        }
    }

    @Test(arguments: failures.indices)
    func `an error's case decides exit code and hint`(index: Int) {
        let row = Self.failures[index]
        let failure = Failure(row.error)
        #expect(failure.status == row.status)
        #expect(row.hint == nil ? failure.hint == nil : failure.hint?.hasPrefix(row.hint ?? "") == true)
    }

    @Test func `a port that needs a privilege is a wrong configuration, with the step that permits it`() {
        let failure = Failure(HubListenError(code: 13), listen: "127.0.0.1", port: 443)
        #expect(failure.status == .badConfiguration)
        #expect(failure.text == "cannot listen on 127.0.0.1:443: a port below 1024 needs a privilege")
        #expect(failure.hint?.hasPrefix("sudo setcap cap_net_bind_service=+ep ") == true)
        #expect(failure.hint?.hasSuffix(", or pass --port with a port from 1024") == true)
        let unit = Failure.cure(port: 443, "--port", isService: true)
        #expect(unit.contains("SocketBindAllow=tcp:443, AmbientCapabilities=CAP_NET_BIND_SERVICE, "))
        #expect(Failure(HubListenError(code: 98), listen: "h", port: 1).status == .tryLater)
        #expect(Failure(HubListenError(code: 98), listen: "h", port: 1).hint == "pass another --port")
    }

    @Test func `a command for root is the command that was given, quoted for a shell`() {
        let command = Administrator.sudoCommand(["newswire", "send", "--message", "it's late", "--tags", ""])
        #expect(command == #"sudo newswire send --message 'it'\''s late' --tags ''"#)
        #expect(Administrator.sudoCommand(["/opt/newswire", "hub", "keys"]) == "sudo /opt/newswire hub keys")
        let long = Administrator.sudoCommand(["newswire", "send", "--message", String(repeating: "x", count: 500)])
        #expect(long == "run this command with sudo")
        #expect(Administrator.sudoCommand(["newswire", "a\nb"]) == "run this command with sudo")
    }

    private static func refusal(_ status: Int, _ code: Int) -> HubError {
        .refused(status: status, code: code, detail: "x", retryAfter: nil)
    }
}
