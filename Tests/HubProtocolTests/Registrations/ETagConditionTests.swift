import Testing

@testable import HubProtocol

@Suite struct ETagConditionTests {
    private static func status(_ header: String?, _ current: Int?) -> Int {
        do {
            try ETagCondition(ifMatch: header).check(current)
            return 200
        } catch {
            return error.status
        }
    }

    @Test(arguments: [nil, "", " "])
    func `without a header anything may be written`(header: String?) {
        #expect(Self.status(header, 3) == 200)
        #expect(Self.status(header, nil) == 200)
    }

    @Test(arguments: ["*", "\"*\"", " * ", "\"1\", *"])
    func `a star needs a registration and takes any`(header: String) {
        #expect(Self.status(header, 3) == 200)
        #expect(Self.status(header, nil) == 404)
    }

    /// .NET, JavaScript and iOS; Java; Go and PHP; and what HTTP allows beside those.
    @Test(arguments: ["\"3\"", "W/\"3\"", "3", "w/\"3\"", "\"1\", W/\"3\"", "1,2,3", "03"])
    func `a number is compared in each spelling`(header: String) {
        #expect(Self.status(header, 3) == 200)
        #expect(Self.status(header, 4) == 412)
        #expect(Self.status(header, nil) == 404)
    }

    @Test(arguments: ["\"\"", "W/", "\"abc\"", "+3", "-3", "\"", "99999999999999999999", "\"3", ",", "3 3"])
    func `an ETag that is not a number matches nothing`(header: String) {
        #expect(Self.status(header, 3) == 412)
        #expect(Self.status(header, nil) == 404)
    }

    @Test func `a refusal says both tags and what to do`() {
        #expect { try ETagCondition(ifMatch: "W/\"3\"").check(4) } throws: {
            "\($0)"
                == "If-Match is W/\"3\", and the registration's ETag is W/\"4\": it has been changed since; read it "
                + "again, or send If-Match: *"
        }
    }
}
