import FoundationEssentials
import Glibc
import Testing

@testable import HostSystem

@Suite struct UserEntryTests {
    private let scratch: ScratchDirectory
    /// A user without an entry, to whom none of the test's files belong.
    private let other = UserEntry(name: "none", user: 4_242, group: 4_243)

    init() throws {
        scratch = try ScratchDirectory()
        chmod(scratch.path, 0o755)
    }

    private func folder(_ name: String, _ mode: mode_t) throws {
        try #require(mkdir(scratch.file(name), 0o700) == 0 && chmod(scratch.file(name), mode) == 0)
    }

    private func file(_ name: String, _ mode: mode_t = 0o644) throws {
        try PrivateFile.write("x", to: scratch.file(name))
        try #require(chmod(scratch.file(name), mode) == 0)
    }

    private func link(_ name: String, to target: String) throws {
        try #require(symlink(target, scratch.file(name)) == 0)
    }

    @Test(
        arguments: [
            (0o604, false, true), (0o640, false, false), (0o640, true, true), (0o604, true, false),
            (0o600, true, false),
        ] as [(mode_t, Bool, Bool)]
    )
    func `each group of the user counts, and its bits alone`(mode: mode_t, isMember: Bool, mayRead: Bool) throws {
        try file("key.pem", mode)
        let groups: Set<gid_t> = isMember ? [other.group, getegid()] : [other.group]
        #expect(try other.mayRead(scratch.file("key.pem"), in: groups) == mayRead)
    }

    @Test func `the owner's bits count for the owner, whatever the group's are`() throws {
        try file("key.pem", 0o077)
        let owner = UserEntry(name: "none", user: geteuid(), group: getegid())
        #expect(try !owner.mayRead(scratch.file("key.pem")))
        chmod(scratch.file("key.pem"), 0o400)
        #expect(try owner.mayRead(scratch.file("key.pem")))
    }

    @Test func `each folder on the way must let the user through, also those of links`() throws {
        for (name, mode) in [("open", 0o711), ("closed", 0o700)] as [(String, mode_t)] {
            try folder(name, 0o700)
            try file("\(name)/cert.pem")
            try folder("\(name)/inner", 0o711)
            try file("\(name)/inner/cert.pem")
            chmod(scratch.file(name), mode)
        }
        try link("open/through.pem", to: "../closed/cert.pem")
        try link("closed/out.pem", to: "../open/cert.pem")
        try link("closed/absolute.pem", to: scratch.file("open/cert.pem"))
        try link("open/twice.pem", to: "folder/out.pem")
        try link("open/folder", to: scratch.file("closed"))
        try link("open/back", to: "../closed/inner/../../open")
        try link("open/own.pem", to: "./inner/../cert.pem")
        for (path, mayRead) in [
            ("open/cert.pem", true), ("open/inner/cert.pem", true), ("open/own.pem", true),
            ("open//inner/../cert.pem", true), ("closed/cert.pem", false), ("closed/inner/cert.pem", false),
            ("open/through.pem", false), ("closed/out.pem", false), ("closed/absolute.pem", false),
            ("open/twice.pem", false), ("open/back/cert.pem", false), ("closed/../open/cert.pem", false),
        ] {
            #expect(try other.mayRead(scratch.file(path)) == mayRead, "\(path)")
        }
    }

    @Test func `a path that leads nowhere is an error that names it`() throws {
        try link("round", to: "round")
        try link("dangling", to: "none")
        try file("file")
        for (name, code) in [("round", ELOOP), ("dangling", ENOENT), ("none/file", ENOENT), ("file/x", ENOTDIR)] {
            let error = #expect(throws: HostError.self, "\(name)") { try other.mayRead(scratch.file(name)) }
            #expect(error?.code == code && error?.subject == scratch.file(name), "\(name): \(error?.description ?? "")")
        }
    }

    @Test func `a path is followed through its links`() throws {
        let root = try FollowedPath(scratch.path).file
        try folder("real", 0o755)
        try file("real/cert.pem")
        try link("link", to: "real")
        let followed = try FollowedPath(scratch.file("link/cert.pem"))
        #expect(followed.file == "\(root)/real/cert.pem")
        #expect(followed.folders.suffix(2) == [root, "\(root)/real"])
        #expect(followed.names.suffix(3) == ["\(root)/link", "\(root)/real", "\(root)/real/cert.pem"])
        #expect(try FollowedPath("/..").file == "/" && FollowedPath("/").file == "/")
        #expect(try FollowedPath(".").file == FollowedPath(FileManager.default.currentDirectoryPath).file)
    }

    @Test func `the groups are those that 'id' shows`() async throws {
        let entry = try #require(UserEntry(geteuid()))
        let shown = try await ChildProcess(
            arguments: ["id", "-G", entry.name],
            environment: ["PATH": "/usr/bin:/bin"],
            timeout: .seconds(60)
        ).run().standardOutput
        #expect(entry.groups == Set(shown.split { $0 == " " || $0 == "\n" }.compactMap { gid_t($0) }))
        #expect(UserEntry(named: entry.name)?.user == entry.user)
        #expect(UserEntry(named: "no-such-user") == nil)
    }
}
