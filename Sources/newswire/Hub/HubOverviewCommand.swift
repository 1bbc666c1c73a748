import ArgumentParser
import HostSystem
import HubClient
import HubProtocol

struct HubOverviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overview",
        abstract: "Show a hub at a glance: devices, messages, backlog, credentials, certificate and log.",
        discussion: """
            EXAMPLES
              newswire hub overview
              newswire hub overview --json | jq .pushBacklog
            """
    )

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let overview = try await options.ask { hub in try await hub.overview() }
        if options.json { return Console.print(try JSON.line(overview)) }
        for line in Self.lines(overview) { Console.print(TerminalText.safe(line)) }
    }

    private static func lines(_ overview: HubOverview) -> [String] {
        var lines = [
            "hub             \(overview.hub), newswire \(overview.version ?? "of an unknown version")",
            "started         \(overview.startedAt)",
            "installations   \(counts(overview.installations))",
            "registrations   \(counts(overview.registrations))",
            "open streams    \(overview.openStreams)",
            "messages        \(overview.accepted) accepted, \(overview.repeated) repeated, \(overview.written) written",
        ]
        for (platform, outcomes) in overview.pushOutcomes.sorted(by: { $0.key < $1.key }) {
            lines.append("sent            \(platform): \(counts(outcomes))")
        }
        for (platform, backlog) in overview.pushBacklog.sorted(by: { $0.key < $1.key }) {
            let targets = Counted.text(backlog.targets, "target")
            lines.append("pending         \(platform): \(targets) of \(Counted.text(backlog.messages, "message"))")
        }
        if let alarms = overview.alarms {
            let silenced = overview.silencedAlarms ?? 0
            lines.append("alarms          \(counts(alarms))\(silenced > 0 ? ", \(silenced) of them silenced" : "")")
        }
        lines.append("scheduled       \(overview.scheduled)\(overview.nextDue.map { ", next at \($0)" } ?? "")")
        let waiting = Counted.text(overview.waitingChanges, "change waits", "changes wait")
        lines.append("writer          \(overview.failure ?? "works"), \(waiting)")
        let log = overview.log
        let dropped = Counted.text(log.droppedUnexpired, "message")
        lines.append("log             \(log.bytes) of \(log.limitBytes) bytes, \(dropped) dropped unexpired")
        for credential in overview.credentials {
            let state = credential.isUsable ? "usable" : "not usable"
            let parts = [state, credential.reason, credential.expiresAt.map { "expires \($0)" }].compactMap { $0 }
            lines.append("credential      \(credential.platform): \(parts.joined(separator: ", "))")
        }
        if let certificate = overview.certificate {
            let renewal = certificate.isRenewed ? ", renewed automatically" : ""
            lines.append("certificate     expires \(certificate.expiresAt)\(renewal)")
        }
        return lines
    }

    private static func counts(_ counts: [String: Int]) -> String {
        guard !counts.isEmpty else { return "none" }
        return counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    }
}
