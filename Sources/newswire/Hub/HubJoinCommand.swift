import ArgumentParser
import Certificates
import Formats
import Foundation
import Glibc
import HostSystem
import HubProtocol
import HubServer
import HubStore
import NetworkAddresses
import OutboundHTTP
import SQLiteFiles
import Settings

struct HubJoinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "join",
        abstract: "Make this machine one more hub of a log, with a code from the machine of another one.",
        discussion: """
            Fetches the keys and a copy of the database from a running hub, writes the configuration, and starts the \
            hub, which then follows the log. 'newswire hub invite --node NAME' prints the code there; without \
            --code-file this command asks for it on the terminal.

            The address is that of the hub which has made the code, not that of a load balancer. The code names its \
            key, so that no other server can take its place.

            EXAMPLES
              newswire hub join https://log1.example.org:8787
              newswire hub join https://log1.example.org:8787 --code-file code
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Argument(help: ArgumentHelp("The address of the hub that has made the code.", valueName: "URL"))
    var address: String

    @Option(
        help: ArgumentHelp(
            "The file that contains the code; '-' is standard input (default: ask on the terminal).",
            valueName: "path"
        ),
        completion: .file()
    )
    var codeFile: String?

    /// Maximum bytes of the line before the database.
    private static let maximumHead = 2 * NodeInvitation.maximumBytes

    private var base: String { address.hasSuffix("/") ? String(address.dropLast()) : address }

    func validate() throws {
        guard address.hasPrefix("https://"), Authority(base.dropFirst("https://".count)) != nil else {
            throw ValidationError("the address must be such as https://log1.example.org:8787")
        }
    }

    func run() async throws {
        let code = try readCode()
        var edited = try EditedConfiguration(configuration.config, ProcessInfo.processInfo.environment)
        // A code can be used once, so that everything is checked before that can be.
        try edited.check(changes(to: .example, of: edited))
        let state = try stateDirectory(edited.settings.overridden(by: configuration.flags.values), edited.units)
        let parcel = try await fillState(state, code) { parcel in
            try edited.apply(changes(to: parcel, of: edited, state: state))
        }
        try writeConfiguration(edited, parcel)
        _ = try edited.units?.putDropIn(isNeeded: true, isDryRun: false)
        Console.notice("this machine has the keys and the database of the hub, and is '\(parcel.node)' in the log")
        try await start(edited)
    }

    private func readCode() throws -> NodeCode {
        let text = try codeFile.map { try PasswordOptions.text(of: $0, as: "a code") } ?? Self.typedCode()
        guard let code = NodeCode(text.trimmingCharacters(in: .whitespacesAndNewlines)) else {
            throw Failure(
                .usage,
                "that is not a code of 'newswire hub invite --node'",
                hint: "it is one line of 87 characters, with a dot in the middle"
            )
        }
        return code
    }

    private static func typedCode() throws -> String {
        let typed: String?
        do throws(HostError) {
            typed = try HiddenInput.line(prompt: "Code: ")
        } catch {
            throw Failure(.usage, "\(error)", hint: "pass --code-file PATH, or '-' for standard input")
        }
        guard let typed else { throw Failure(.failed, "no code was given; nothing was changed") }
        return typed
    }

    /// The state directory of the service, or else of this user; the process then has the rights of its owner.
    private func stateDirectory(_ settings: Settings, _ units: SetupUnits?) throws -> StateDirectory {
        guard let units, !units.isOfUser else { return try HubState.existingOrNew(settings, isForGood: false) }
        guard let user = UserEntry(named: SetupUnits.user) else {
            throw Failure(
                .badConfiguration,
                "there is no user '\(SetupUnits.user)' yet, who runs the hub's service",
                hint: "run: systemd-sysusers"
            )
        }
        let path = settings.value(HubSettings.state) ?? "\(StateDirectory.services)/hub"
        if !HostFile.exists(path) {
            // The service manager creates it at the first start of the service, which is still to come.
            try SetupCommand.makeFolder((path as NSString).deletingLastPathComponent)
            guard mkdir(path, 0o700) == 0, chown(path, user.user, user.group) == 0 else {
                throw HostError("cannot create", path, code: errno)
            }
        }
        return try HubState.existing(
            settings.overridden(by: [HubSettings.state.entry.id: path]),
            isForGood: false
        )
    }

    // MARK: - The state directory

    /// Fetches keys and database into a state directory whose hub does not run.
    ///
    /// `prepare` checks what else is to be done with the parcel, before anything changes.
    private func fillState(
        _ state: StateDirectory,
        _ code: NodeCode,
        prepare: (NodeInvitation.Parcel) throws -> Void
    ) async throws -> NodeInvitation.Parcel {
        let database = state.file(HubFiles.database)
        guard let lock = try FileLock.acquire(state.file(HubFiles.lock)) else {
            throw Failure(.tryLater, "a hub is using '\(state.path)'", hint: "stop it first")
        }
        defer { lock.close() }
        state.removeLeftovers()
        let former = HostFile.exists(database) ? try LogMembership.incarnation(of: database) : nil
        guard former != nil || !HostFile.exists(database) else { throw Self.hasContent(state) }
        let copy = state.temporaryFile(for: HubFiles.database)
        defer { unlink(copy) }
        let parcel = try await fetch(code, to: copy)
        if let former, try LogMembership.incarnation(of: copy) != former { throw Self.hasContent(state) }
        try prepare(parcel)
        let files = try keyFiles(parcel, state, mayDiffer: former != nil)
        // A hub with the database and other keys does not start, and says which ones it lacks.
        let kept = try DatabaseFileError.naming(database) { try HubBackup.restore(copy, to: database) }
        FormerDatabases(of: database).say(kept)
        try HostFile.replace(files)
        return parcel
    }

    private static func hasContent(_ state: StateDirectory) -> Failure {
        Failure(
            .badConfiguration,
            "'\(state.path)' is of a hub with content of its own, or of another log; nothing was changed",
            hint: "use another machine or --state PATH: its content cannot join that of other hubs"
        )
    }

    /// The keys to write; those of another hub are not replaced.
    private func keyFiles(
        _ parcel: NodeInvitation.Parcel,
        _ state: StateDirectory,
        mayDiffer: Bool
    ) throws -> [HostFile.Content] {
        try parcel.stateFiles.sorted { $0.key < $1.key }.map { name, text in
            guard NodeInviter.stateFiles.contains(name) else { throw Self.unusable }
            let path = state.file(name)
            guard try mayDiffer || !HostFile.exists(path) || PrivateFile.read(path) == text else {
                throw Failure(
                    .badConfiguration,
                    "'\(path)' is of another hub; nothing was changed",
                    hint: "move it away, or pass --state PATH"
                )
            }
            let isPublic = name == LocalCertificates.authorityName
            return .init(path: path, text: text, permissions: isPublic ? 0o644 : 0o600)
        }
    }

    private static let unusable = Failure(
        .failed,
        "the hub's answer cannot be used; nothing was changed",
        hint: "make another code, and use the same version on both machines"
    )

    /// Fetches the parcel, and the database into a new file.
    private func fetch(_ code: NodeCode, to copy: String) async throws -> NodeInvitation.Parcel {
        unlink(copy)
        let descriptor = open(copy, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw HostError("cannot write", copy, code: errno) }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        var request = OutboundRequest(
            method: "POST",
            url: base + HubService.admissionPath,
            headers: [("Content-Type", "text/plain")],
            body: Array(code.secret.text.utf8),
            totalTimeout: nil,
            maximumRedirects: 0,
            addresses: .any
        )
        request.publicKeyHash = code.publicKeyHash
        do {
            return try await withHTTP { [request] http in
                let stream = try await http.stream(request)
                guard stream.status == 200 else { throw Self.refusal(stream.status, address) }
                return try await Self.read(stream, into: file, copy)
            }
        } catch OutboundError.untrusted {
            throw Failure(
                .failed,
                "the server at \(address) is not the hub that has made the code",
                hint: "use the address of that hub itself; if this is it, its certificate is new: make another code"
            )
        } catch let error as OutboundError {
            throw Failure(
                .hubUnreachable,
                "cannot fetch the hub's keys and database: \(error); nothing was changed",
                hint: "if the transfer had begun, the code is used up: make another one"
            )
        }
    }

    private static func read(_ stream: OutboundStream, into file: FileHandle, _ path: String) async throws
        -> NodeInvitation.Parcel
    {
        var head: [UInt8] = []
        var parcel: NodeInvitation.Parcel?
        var received = 0
        while let bytes = try await stream.nextChunk() {
            var rest = bytes[...]
            if parcel == nil {
                head += bytes
                guard let end = head.firstIndex(of: UInt8(ascii: "\n")) else {
                    guard head.count <= maximumHead else { throw unusable }
                    continue
                }
                let read = try? JSONReader.decode(NodeInvitation.Parcel.self, from: Array(head[..<end]))
                guard let read, read.logFiles.keys.allSatisfy({ JoinedLog.settings[$0] != nil }) else { throw unusable }
                try checkSpace(for: read, at: path)
                parcel = read
                rest = head[(end + 1)...]
            }
            received += rest.count
            try file.write(contentsOf: Data(rest))
        }
        guard let parcel, received == parcel.databaseBytes else { throw unusable }
        return parcel
    }

    /// The copy, the restored database and a former one are there at once.
    private static func checkSpace(for parcel: NodeInvitation.Parcel, at path: String) throws {
        let needed = 3 * Int64(parcel.databaseBytes)
        guard let free = DiskSpace(at: path)?.available, free < needed else { return }
        throw Failure(
            .tryLater,
            "the database needs \(needed >> 20) MiB, and the disk has \(free >> 20) MiB; nothing was changed",
            hint: "make room, and make another code"
        )
    }

    private static func refusal(_ status: Int, _ address: String) -> Failure {
        switch status {
        case 403:
            Failure(
                .failed,
                "the hub at \(address) does not know the code: it was used, or has expired",
                hint: "make another one with 'newswire hub invite --node NAME' on the hub's own machine"
            )
        case 404:
            Failure(.failed, "the server at \(address) is not a hub that shares a log, or has an earlier version")
        case 409:
            Failure(
                .failed,
                "a hub with the code's name is running",
                hint: "make a code with another name, or stop that hub and wait for 15 seconds"
            )
        default:
            Failure(
                .failed,
                "the hub at \(address) refuses the code (status \(status))",
                hint: "codes are taken at the hub's own port, which speaks TLS itself"
            )
        }
    }

    // MARK: - The configuration

    /// Writes the configuration, and the files for the log's servers beside it.
    private func writeConfiguration(_ edited: EditedConfiguration, _ parcel: NodeInvitation.Parcel) throws {
        try FolderRights.takeOwn()
        let folder = logFolder(edited)
        try SetupCommand.makeFolder(edited.folder)
        // The folder's owner may have put links in it.
        try FolderRights.with(ownerOf: edited.folder) {
            if !parcel.logFiles.isEmpty { try SetupCommand.makeFolder(folder) }
            let files = parcel.logFiles.compactMap { name, text in
                JoinedLog.settings[name].map { entry in
                    HostFile.Content(
                        path: "\(folder)/\(name)",
                        text: text,
                        permissions: entry.isSecretFile ? 0o600 : 0o644
                    )
                }
            }
            try HostFile.replace(files)
            if geteuid() == 0, let units = edited.units, !units.isOfUser, let user = UserEntry(named: SetupUnits.user) {
                for file in files where file.permissions == 0o600 {
                    guard chown(file.path, user.user, user.group) == 0 else {
                        throw HostError("cannot give to '\(SetupUnits.user)'", file.path, code: errno)
                    }
                }
            }
            try edited.write()
        }
    }

    private func logFolder(_ edited: EditedConfiguration) -> String { "\(edited.folder)/log" }

    /// The changes after which the file has the settings of the other hubs, and no others in which hubs must not differ.
    private func changes(
        to parcel: NodeInvitation.Parcel,
        of edited: EditedConfiguration,
        state: StateDirectory? = nil
    ) -> [SettingChange] {
        let listen = HubSettings.listen.entry
        var changes = [SettingChange(HubSettings.logNode.entry, .word(parcel.node))]
        for entry in NodeInviter.sharedEntries {
            if let text = parcel.settings[entry.id] {
                if (try? entry.read(text)) != nil { changes.append(SettingChange(entry, text: text)) }
            } else if entry.id != listen.id {
                changes.append(SettingChange(entry, .none))
            }
        }
        for (name, entry) in JoinedLog.settings.sorted(by: { $0.key < $1.key }) {
            let path = parcel.logFiles[name].map { _ in "\(logFolder(edited))/\(name)" }
            changes.append(SettingChange(entry, path.map { .word($0) } ?? .none))
        }
        if let state, configuration.flags.value(HubSettings.state) != nil {
            changes.append(SettingChange(HubSettings.state.entry, .word(state.path)))
        }
        return changes.filter { edited.text(of: $0.entry) != $0.text }
    }

    private func start(_ edited: EditedConfiguration) async throws {
        guard let units = edited.units else {
            return Console.notice(
                (["start it with: newswire hub"] + edited.naming.map(\.shellWord)).joined(separator: " ")
            )
        }
        if units.isManaged { return try await units.start(units.hubCommands) }
        Console.notice("these commands start it:")
        for command in units.hubCommands { Console.print("  \(command.joined(separator: " "))") }
    }
}

extension NodeInvitation.Parcel {
    /// One with every kind of setting, for a look at the configuration file.
    fileprivate static let example = NodeInvitation.Parcel(
        node: "example",
        stateFiles: [:],
        logFiles: JoinedLog.settings.mapValues { _ in "" },
        settings: [HubSettings.logServers.entry.id: "tls://log.example.org:4222"],
        databaseBytes: 0
    )
}
