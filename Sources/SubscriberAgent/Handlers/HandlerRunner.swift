import Glibc
import HostSystem

/// One attempt of a handler on one row.
struct HandlerRunner: Sendable {
    /// Longest value of one of our variables, in bytes: Linux accepts 128 KiB for one string, including its name.
    static let maximumVariable = 65_536
    /// Variables of this process's environment that handlers do not get: its secrets, and its connection to systemd.
    static let withheld = [
        "CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "LISTEN_FDS", "LISTEN_PID",
    ]

    let handler: InboxHandler
    /// Shows each row before the handler runs, and replaces printing.
    let desktop: DesktopHandler?
    let output: any HandlerOutput
    let timeout: Duration
    /// This process's environment.
    let environment: [String: String]

    /// Passes a row on; `waiting` rows follow it.
    ///
    /// People see each version of a story once, whichever category it came from first. Programs get all messages.
    func run(_ record: InboxRecord, waiting: Int = 0) async throws(HandlerFailure) {
        let line = InboxLine(record)
        var isShown = record.sameAs != nil
        if !isShown { isShown = await desktop?.show(record, waiting: waiting, within: timeout) ?? false }
        switch handler {
        case .print where isShown: break
        case .print: try await output.write(Array("\(line.text)\n".utf8), within: timeout)
        case .json: try await output.write(Array("\(line.json)\n".utf8), within: timeout)
        case .exec(let program, let arguments):
            try await run([program] + arguments, record, input: "\(line.json)\n")
        }
    }

    /// Checks that the program exists, before the first row.
    ///
    /// - Throws: ``AgentError`` with exit 78.
    func check() throws(AgentError) {
        guard case .exec(let program, _) = handler else { return }
        let candidates =
            program.contains("/")
            ? [program] : (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(program)" }
        guard !program.isEmpty, candidates.contains(where: Self.isExecutable) else {
            let reason = candidates.contains { access($0, F_OK) == 0 } ? "not an executable file" : "no such program"
            throw AgentError(
                .badConfiguration,
                "cannot run handler '\(TerminalText.safe(program))': \(reason)",
                hint: .handler
            )
        }
    }

    /// Returns the variables of a row, added to the part of this process's environment that is passed on.
    func variables(for record: InboxRecord) -> [String: String] {
        var variables = Self.passedOn(environment)
        let line = InboxLine(record)
        let values: [String: String?] = [
            "ID": line.id, "TITLE": line.title, "MESSAGE": line.message, "LINK": line.link, "CATEGORY": line.category,
            "STORY": line.story, "STATUS": line.status, "REPLACES": line.replaces, "SUPERSEDED": line.superseded,
            "SAME_AS": line.sameAs, "REDELIVERY": record.isRedelivery ? "1" : nil,
            "GAP": record.kind == .gap ? "1" : nil,
        ]
        for case (let name, let value?) in values { variables["NEWSWIRE_\(name)"] = Self.clipped(value) }
        // A part of a JSON text is not JSON. Standard input has the whole text.
        variables["NEWSWIRE_BODY"] = record.body.utf8.count <= Self.maximumVariable ? record.body : ""
        return variables
    }

    /// Returns the variables of this process's environment that are passed to programs.
    static func passedOn(_ environment: [String: String]) -> [String: String] {
        environment.filter { name, _ in !name.hasPrefix("NEWSWIRE_") && !withheld.contains(name) }
    }

    private func run(_ arguments: [String], _ record: InboxRecord, input: String) async throws(HandlerFailure) {
        let process = ChildProcess(
            arguments: arguments,
            environment: variables(for: record),
            input: input,
            timeout: timeout,
            output: .inherit
        )
        let outcome: ChildProcess.Outcome
        do {
            outcome = try await process.run()
        } catch {
            // Arguments that are too long, and those that no program can get, are the message's.
            if let code = error.code, code != E2BIG { throw .blocked(error) }
            throw .failed("\(error)")
        }
        if outcome.isSuccess { return }
        switch outcome.interruption {
        case .timedOut: throw .timedOut(timeout)
        case .cancelled: throw .stopped
        case nil: throw .failed("'\(TerminalText.safe(arguments.first ?? ""))' \(outcome)")
        }
    }

    private static func isExecutable(_ path: String) -> Bool {
        var facts = stat()
        return stat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFREG && access(path, X_OK) == 0
    }

    /// Returns a text without NULs, which an environment cannot contain, cut between characters if it is too long.
    private static func clipped(_ text: String) -> String {
        var kept = String.UnicodeScalarView()
        var bytes = 0
        for scalar in text.unicodeScalars where scalar.value != 0 {
            bytes += UTF8.width(scalar)
            guard bytes <= maximumVariable else { break }
            kept.append(scalar)
        }
        return String(kept)
    }
}
