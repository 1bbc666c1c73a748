import HubProtocol
import Testing

@testable import AppBackend

@Suite struct RememberedSignInsTests {
    private let clock = AccountClock()

    private func account(_ id: Int64) throws -> Account {
        let name = try #require(UserName("alice"))
        return Account(id: id, version: 3, name: name, mayNotifyOthers: false, createdAt: 0, passwordAt: 0)
    }

    private func login(_ name: String, _ password: String) throws -> PasswordLogin {
        try #require(PasswordLogin(name: name, password: password))
    }

    @Test func `a mark is valid for one name and password in one process`() throws {
        let remembered = RememberedSignIns(clock: clock.clock.monotonic)
        let mark = remembered.mark(of: try login("Alice", "correct horse"))
        #expect(mark == remembered.mark(of: try login("alice", "correct horse")))
        #expect(mark != remembered.mark(of: try login("alice", "correct horsf")))
        #expect(mark != remembered.mark(of: try login("alic", "e:correct horse")))
        let other = RememberedSignIns(clock: clock.clock.monotonic)
        #expect(mark != other.mark(of: try login("alice", "correct horse")))
    }

    @Test func `an entry lives five minutes, and is forgotten when asked`() throws {
        let remembered = RememberedSignIns(clock: clock.clock.monotonic)
        let mark = remembered.mark(of: try login("alice", "correct horse"))
        #expect(remembered.entry(mark) == nil)
        remembered.remember(mark, try account(7))
        clock.advance(by: .seconds(300) - .milliseconds(1))
        #expect(remembered.entry(mark)?.accountID == 7)
        #expect(remembered.entry(mark)?.version == 3)
        clock.advance(by: .milliseconds(1))
        #expect(remembered.entry(mark) == nil)
        #expect(remembered.count == 0)
        remembered.remember(mark, try account(7))
        remembered.forget(mark)
        #expect(remembered.entry(mark) == nil)
    }

    @Test func `the table is bounded, and forgets the oldest`() throws {
        let remembered = RememberedSignIns(clock: clock.clock.monotonic)
        let account = try account(1)
        let marks = try (0..<RememberedSignIns.maximumEntries + 1).map {
            remembered.mark(of: try login("u\($0)", "correct horse"))
        }
        for mark in marks {
            remembered.remember(mark, account)
            clock.advance(by: .milliseconds(1))
        }
        #expect(remembered.count <= RememberedSignIns.maximumEntries)
        #expect(remembered.entry(marks[0]) == nil)
        #expect(remembered.entry(try #require(marks.last)) != nil)
        #expect(remembered.entry(marks[RememberedSignIns.maximumEntries / 2]) != nil)
    }
}
