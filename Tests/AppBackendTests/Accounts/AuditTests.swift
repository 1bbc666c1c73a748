import GRDB
import HubProtocol
import HubTestServer
import SQLiteFiles
import Testing

@testable import AppBackend

@Suite struct AuditTests {
    /// Who, what, outcome, network, number.
    private static func lines(_ records: [AuditRecord]) -> [String] {
        records.map { "\($0.who ?? "-") \($0.what) \($0.outcome) \($0.network ?? "-") \($0.count)" }
    }

    @Test func `every change and every sign-in is in the log`() async throws {
        let bench = try SignInBench()
        let alice = try #require(UserName("Alice"))
        let accounts = bench.operatorAccounts
        try await bench.add("Alice")
        try await accounts.setRights(of: alice, mayNotifyOthers: true)
        let first = try await bench.logIn("alice", device: "phone")
        await bench.audit.flush()
        _ = try await bench.logIn("alice")
        try await bench.signIn.logOut(try #require(AccessToken(first)), SignInBench.elsewhere)
        let tokens = try await accounts.tokens(of: alice)
        try await accounts.revokeToken(try #require(tokens.first).id, of: alice)
        try await accounts.setPassword(of: alice, to: Password(new: "battery staple"))
        try await accounts.remove(alice)
        let records = try await bench.auditRecords()
        #expect(
            Self.lines(records) == [
                "alice account added done - 1", "alice rights changed done - 1", "alice log-in done 192.0.2.0/24 2",
                "alice sign-in done 192.0.2.0/24 1", "alice log-out done 198.51.100.0/24 1",
                "alice token revoked done - 1",
                "alice password changed done - 1", "alice account removed done - 1",
            ]
        )
        #expect(records.allSatisfy { $0.at == bench.clock.now })
    }

    @Test func `a refused sign-in names known users only, and nothing that was typed`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        for name in ["alice", "my-password-by-mistake"] {
            for number in 0..<6 { _ = try? await bench.caller(name, "typed \(number)") }
        }
        _ = try? await bench.caller(token: AccessToken.random().text)
        _ = try? await bench.signIn.caller(authorization: "Basic (null)", network: SignInBench.home)
        let records = try await bench.auditRecords()
        #expect(
            Set(Self.lines(records)) == [
                "alice account added done - 1", "alice sign-in refused 192.0.2.0/24 5",
                "- sign-in refused 192.0.2.0/24 5", "- sign-in slowed 192.0.2.0/24 2",
                "- token refused 192.0.2.0/24 1",
            ]
        )
        let all = try await bench.store.read { db in
            try Row.fetchAll(db.database, sql: "SELECT * FROM audit").map(\.description).joined()
        }
        #expect(!all.contains("typed"))
        #expect(!all.contains("mistake"))
    }

    @Test func `equal events are one row for an hour, or a day if nothing was refused`() async throws {
        let bench = try SignInBench()
        let refused = AuditEvent(UserName("alice"), .signIn, .refused, SignInBench.home)
        let done = AuditEvent(UserName("alice"), .signIn, .done, SignInBench.home)
        let start = bench.clock.now
        for _ in 0..<25 {
            for event in [refused, done] { for _ in 0..<2 { bench.audit.note(event) } }
            await bench.audit.flush()
            bench.clock.advance(by: .seconds(3_600))
        }
        let records = try await bench.auditRecords()
        #expect(records.filter { $0.outcome == "refused" }.map(\.count) == Array(repeating: 2, count: 25))
        let signIns = records.filter { $0.outcome == "done" }
        #expect(signIns.map(\.count) == [48, 2])
        #expect(signIns.first?.at == start)
        #expect(signIns.first?.lastAt == start + .seconds(23 * 3_600))
    }

    @Test func `a list is of one user and ends with the newest`() async throws {
        let bench = try SignInBench()
        for name in ["alice", "bob", "carol"] { try await bench.add(name) }
        let last = try await bench.operatorAccounts.audit(limit: 2)
        #expect(last.map(\.who) == ["bob", "carol"])
        let bobs = try await bench.operatorAccounts.audit(of: UserName("BOB"), limit: 10)
        #expect(bobs.map(\.who) == ["bob"])
    }

    @Test func `a flood of different events is counted without who and where`() async throws {
        let bench = try SignInBench()
        let count = AuditLog.maximumPending + 500
        for number in 0..<count {
            bench.audit.note(
                AuditEvent(nil, .signIn, .refused, SignInBench.network("10.\(number / 200).\(number % 200).1"))
            )
        }
        let records = try await bench.auditRecords()
        #expect(records.count == AuditLog.maximumPending + 1)
        #expect(records.filter { $0.network == nil }.map(\.count) == [500])
        #expect(records.map(\.count).reduce(0, +) == count)
    }

    @Test func `a flood of refusals does not hide who did what`() async throws {
        let bench = try SignInBench()
        for number in 0...AuditLog.maximumPending {
            bench.audit.note(
                AuditEvent(nil, .token, .refused, SignInBench.network("10.\(number / 200).\(number % 200).1"))
            )
        }
        bench.audit.note(AuditEvent(UserName("alice"), .payloadFetched, .done, SignInBench.home))
        let records = try await bench.auditRecords()
        #expect(Self.lines(records).contains("alice payload fetched done 192.0.2.0/24 1"))
    }

    @Test func `a user who logs in and out all the time cannot push out other events`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        for _ in 0..<20 {
            let token = try await bench.logIn("alice")
            try await bench.signIn.logOut(try #require(AccessToken(token)), SignInBench.home)
        }
        let records = try await bench.auditRecords()
        #expect(
            Set(Self.lines(records)) == [
                "alice account added done - 1", "alice sign-in done 192.0.2.0/24 1",
                "alice log-in done 192.0.2.0/24 20", "alice log-out done 192.0.2.0/24 20",
            ]
        )
    }

    @Test func `what waits for a database that cannot be written is bounded`() async throws {
        let bench = try SignInBench()
        try await bench.store.write { try $0.database.execute(sql: "ALTER TABLE audit RENAME TO missing") }
        func flood(_ first: Int) {
            for number in 0..<AuditLog.maximumPending {
                let network = SignInBench.network("10.\(first + number / 200).\(number % 200).1")
                bench.audit.note(AuditEvent(nil, .token, .refused, network))
            }
        }
        flood(0)
        let (holder, gate) = await bench.holdStore()
        let flush = await bench.beginFlush()
        // The write waits; meanwhile as many others arrive.
        flood(100)
        gate.open()
        await flush.value
        try await holder.value
        #expect(bench.audit.pendingCount == AuditLog.maximumPending + 1)
    }

    @Test func `a flush also waits for a write that has begun`() async throws {
        let bench = try SignInBench()
        bench.audit.note(AuditEvent(nil, .signIn, .refused, SignInBench.home))
        let (holder, gate) = await bench.holdStore()
        let first = await bench.beginFlush()
        let returned = Counter<Void>()
        let second = Task.immediate {
            await bench.audit.flush()
            returned.append(())
        }
        #expect(returned.elements.isEmpty)
        gate.open()
        await second.value
        #expect(try await bench.store.audit(of: nil, limit: 10).count == 1)
        await first.value
        try await holder.value
    }

    @Test func `what cannot be written is written later`() async throws {
        let bench = try SignInBench()
        try await bench.store.write { try $0.database.execute(sql: "ALTER TABLE audit RENAME TO missing") }
        bench.audit.note(AuditEvent(nil, .signIn, .refused, SignInBench.home))
        await bench.audit.flush()
        bench.audit.note(AuditEvent(nil, .signIn, .refused, SignInBench.home))
        try await bench.store.write { try $0.database.execute(sql: "ALTER TABLE missing RENAME TO audit") }
        let records = try await bench.auditRecords()
        #expect(records.map(\.count) == [2])
    }

    @Test func `refusals cannot push out other events`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await bench.store.write { db in
            try db.database.execute(
                sql: """
                    WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?)
                    INSERT INTO audit (at, lastAt, count, what, outcome) SELECT n, n, 1, 'sign-in', 'refused' FROM number
                    """,
                arguments: [AuditLog.maximumRefusals + 10]
            )
        }
        try await bench.store.boundAudit()
        let counts = try await bench.store.read { db in
            try Row.fetchAll(
                db.database,
                sql: "SELECT outcome, count(*) AS n, min(at) AS first FROM audit GROUP BY outcome"
            )
            .map { "\($0["outcome"] as String) \($0["n"] as Int)" }
        }
        #expect(counts == ["done 1", "refused \(AuditLog.maximumRefusals)"])
        let oldest = try await bench.store.read { try Int.fetchOne($0.database, sql: "SELECT min(at) FROM audit") }
        #expect(oldest == 11)
    }

    @Test func `old entries, tokens and names go after their time`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        try await bench.add("bob")
        _ = try await bench.logIn("alice")
        try await bench.operatorAccounts.remove(try #require(UserName("bob")))
        let upkeep = AccountUpkeep(
            store: bench.store,
            audit: bench.audit,
            clock: bench.clock.clock,
            logger: SignInBench.quiet
        )
        _ = try await bench.auditRecords()
        bench.clock.advance(by: AuditLog.retention)
        await upkeep.purgeIfDue()
        let kept = try await bench.store.audit(of: nil, limit: .max)
        #expect(kept.count == 5)
        bench.clock.advance(by: AccountUpkeep.purgeInterval)
        await upkeep.purgeIfDue()
        for table in ["audit", "token", "removedAccount"] {
            let rows = try await bench.store.read {
                try Int.fetchOne($0.database, sql: "SELECT count(*) FROM \(table)")
            }
            #expect(rows == 0, "\(table)")
        }
    }

    @Test func `nothing goes by a clock that has jumped`() async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        let upkeep = AccountUpkeep(
            store: bench.store,
            audit: bench.audit,
            clock: bench.clock.clock,
            logger: SignInBench.quiet
        )
        bench.clock.jump(by: .seconds(365 * 86_400))
        bench.clock.advance(by: AccountUpkeep.purgeInterval)
        await upkeep.purgeIfDue()
        let kept = try await bench.store.audit(of: nil, limit: .max)
        #expect(kept.count == 1)
        // After another hour at its new time it is believed.
        bench.clock.advance(by: AccountUpkeep.purgeInterval)
        await upkeep.purgeIfDue()
        let left = try await bench.store.audit(of: nil, limit: .max)
        #expect(left.isEmpty)
    }

    @Test(arguments: [
        (rest: Duration.zero, isPurged: true), (AccountUpkeep.startTolerance, true),
        (AccountUpkeep.startTolerance + .seconds(1), false),
    ])
    func `a start purges, unless the clock is far from the newest event`(
        rest: Duration,
        isPurged: Bool
    ) async throws {
        let bench = try SignInBench()
        try await bench.add("alice")
        bench.clock.advance(by: AuditLog.retention + .seconds(1))
        try await bench.add("bob")
        bench.clock.advance(by: rest)
        let upkeep = AccountUpkeep(
            store: bench.store,
            audit: bench.audit,
            clock: bench.clock.clock,
            logger: SignInBench.quiet
        )
        await upkeep.purgeAtStart()
        let kept = try await bench.store.audit(of: nil, limit: .max)
        #expect(kept.map(\.who) == (isPurged ? ["bob"] : ["alice", "bob"]))
    }
}

extension SignInBench {
    /// Keeps the store from writing until the gate opens.
    fileprivate func holdStore() async -> (holder: Task<Void, any Error>, gate: Gate) {
        let (isHeld, gate) = (Gate(), Gate())
        let holder = Task {
            try await store.write { _ in
                isHeld.open()
                gate.blockUntilOpen()
            }
        }
        await isHeld.opened()
        return (holder, gate)
    }

    /// Returns when the flush has taken the events that wait.
    fileprivate func beginFlush() async -> Task<Void, Never> {
        let flush = Task { await audit.flush() }
        let limit = ContinuousClock.now + WaitLimit.duration
        while audit.pendingCount > 0, .now < limit { await Task.yield() }
        return flush
    }
}
