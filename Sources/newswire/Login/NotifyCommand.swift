import AppBackend
import ArgumentParser
import Foundation
import HostSystem
import HubClient
import HubProtocol
import SubscriberAgent

struct NotifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify",
        abstract: "Notify a user by name, on all of their devices.",
        discussion: """
            Log in with 'newswire login' first. To notify others than yourself, you need the right to do so. The \
            command prints one line per platform: accepted, skipped or failed, with the reason. The output never shows \
            whether the user exists or has devices.

            With --secure only an id passes through push services, and the user's devices fetch the text. Pass '-' to \
            read a confidential text from standard input, since other users of this machine can see arguments.

            The exit code is 0 if at least one platform has accepted the notification and none has failed.

            EXAMPLES
              newswire notify alice "The meeting is at ten"
              newswire notify alice "…" --pns apns,wns
              newswire notify alice - --secure < report.txt
            """
    )

    @OptionGroup var agent: AgentOptions

    @Argument(help: "The user's name.", transform: UserName.argument)
    var name: UserName

    @Argument(help: "The text; '-' reads it from standard input.")
    var text: String

    @Option(
        help: ArgumentHelp(
            "The platforms, separated by commas: \(AppBackend.platformNames.joined(separator: ", ")) (agents); default: all.",
            valueName: "platforms"
        ),
        completion: .platforms
    )
    var pns: String?

    @Flag(help: "Send an id only; the devices fetch the text.")
    var secure = false

    @Flag(help: "Print one line of JSON per platform.")
    var json = false

    /// Maximum bytes of a text that an app backend accepts.
    private static let maximumText = 65_536
    private typealias Outcome = PlatformOutcome.Name
    private static let everyPlatform = "all"
    private static let platforms = AppBackend.platformNames

    func validate() throws {
        if secure, pns != nil { throw ValidationError("--secure and --pns cannot be combined") }
    }

    func run() async throws {
        let platforms = try chosenPlatforms()
        let text = try readText()
        let hasAgent = try await agent.withExistingAgent { agent, _ in
            let backend = try agent.backend()
            var outcomes: [PlatformOutcome] = []
            for (index, platform) in platforms.enumerated() {
                do {
                    let new = try await send(text, on: platform, backend)
                    for outcome in new { try show(outcome) }
                    outcomes += new
                } catch let error as BackendClientError {
                    guard let outcome = Self.outcome(error, platform, isFirst: index == 0) else {
                        throw AgentError(error, "notify '\(name)'")
                    }
                    try show(outcome)
                    outcomes.append(outcome)
                }
            }
            try conclude(outcomes)
        }
        guard hasAgent else { throw AgentError(.badConfiguration, "nobody is logged in", hint: .logIn) }
    }

    private func send(
        _ text: String,
        on platform: String,
        _ backend: BackendClient
    ) async throws(BackendClientError) -> [PlatformOutcome] {
        if secure { return try await backend.notifySecurely(name.text, text) }
        return try await backend.notify(name.text, text, on: platform)
    }

    /// Returns the outcome if the error concerns one named platform; `nil` if it ends the whole command.
    private static func outcome(
        _ error: BackendClientError,
        _ platform: String,
        isFirst: Bool
    ) -> PlatformOutcome? {
        guard platform != everyPlatform else { return nil }
        switch error {
        case .refused(409, let reason, _):
            return PlatformOutcome(platform: platform, outcome: Outcome.skipped, reason: reason)
        case .refused(let status, let reason, _) where !isFirst || [413, 502].contains(status):
            return PlatformOutcome(platform: platform, outcome: Outcome.failed, reason: reason)
        case .refused, .cancelled: return nil
        case .unreachable, .malformedReply:
            if isFirst { return nil }
            return PlatformOutcome(platform: platform, outcome: Outcome.failed, reason: "\(error)")
        }
    }

    private func show(_ outcome: PlatformOutcome) throws {
        let reason = outcome.reason.map { ": \($0)" } ?? ""
        try Console.show(outcome, asJSON: json, .row(outcome.platform, "\(outcome.outcome)\(reason)"))
    }

    private func conclude(_ outcomes: [PlatformOutcome]) throws {
        let failed = outcomes.filter { $0.outcome == Outcome.failed }.map(\.platform)
        if !failed.isEmpty {
            throw Failure(.failed, "the notification was not sent on \(failed.joined(separator: ", "))")
        }
        guard outcomes.contains(where: { $0.outcome == Outcome.accepted }) else {
            throw Failure(.failed, "no platform has accepted the notification")
        }
    }

    // MARK: - Arguments

    private func chosenPlatforms() throws -> [String] {
        guard let pns else { return [Self.everyPlatform] }
        var chosen: [String] = []
        for part in pns.split(separator: ",") {
            let word = part.trimmingCharacters(in: .whitespaces).lowercased()
            guard Self.platforms.contains(word) || word == Self.everyPlatform else {
                throw Failure(unknown: "platform", word, known: Self.platforms + [Self.everyPlatform])
            }
            if !chosen.contains(word) { chosen.append(word) }
        }
        guard !chosen.isEmpty else {
            throw Failure(.usage, "--pns is empty", hint: "omit --pns for all platforms")
        }
        return chosen.contains(Self.everyPlatform) ? [Self.everyPlatform] : chosen
    }

    private func readText() throws -> String {
        guard text == "-" else { return try checked(text, "the text") }
        let data = try FileHandle.standardInput.read(upToCount: Self.maximumText + 1) ?? Data()
        guard var text = String(validating: data, as: UTF8.self) else {
            throw Failure(.usage, "standard input is not UTF-8 text")
        }
        if text.last?.isNewline ?? false { text.removeLast() }
        return try checked(text, "standard input")
    }

    private func checked(_ text: String, _ source: String) throws -> String {
        guard !text.allSatisfy(\.isWhitespace) else { throw Failure(.usage, "\(source) is empty") }
        guard text.utf8.count <= Self.maximumText else {
            throw Failure(.usage, "\(source) is larger than \(Self.maximumText) bytes")
        }
        return text
    }
}
