import Testing

@testable import HubProtocol

@Suite struct TagExpressionTests {
    static func tags(_ text: String) throws -> Set<Tag> {
        var tags: Set<Tag> = []
        for name in text.split(separator: " ") { tags.insert(try Tag(String(name))) }
        return tags
    }

    @Test(arguments: [
        ("World", "World", true), ("world", "WORLD", true), ("World", "Sports", false), ("World", "", false),
        ("!World", "", true), ("!!World", "World", true), ("a||b", "b", true), ("a || b", "c", false),
        ("a&&b", "a", false), ("a && b", "a b", true), ("a && !b", "a", true), ("a && !b", "a b", false),
        ("a || b && c", "a", true), ("a || b && c", "b", false), ("(a || b) && c", "a", false),
        ("(a || b) && c", "b c", true), ("!(a || b)", "c", true), ("!a || b", "", true), ("!a && b", "b", true),
        ("  ( ( a ) )  ", "a", true), ("a\t||\nb", "b", true), ("新闻 && !Économie", "新闻", true),
        ("$InstallationId:{x=1} || $UserId:{bob}", "$UserId:{Bob}", true), ("a-b||a.b||a#b||a@b||a:b", "a#b", true),
        ("(World && !Sports) || username:bob", "username:bob Sports", true),
    ])
    func `an expression matches by its formula`(text: String, given: String, expected: Bool) throws {
        let given = try Self.tags(given)
        #expect(try TagExpression(parsing: text).matches(given.contains) == expected, "\(text) on \(given)")
    }

    @Test(arguments: [
        ("", 0), ("   ", 3), ("a b", 2), ("a ||", 4), ("|| a", 0), ("a | b", 2), ("a & b", 2), ("a &&& b", 4),
        ("(a", 0),
        ("a)", 1), ("()", 1), ("!", 1), ("a !b", 2), ("a,b", 1), ("a=b", 1), ("$a", 0), ("a || $UserId:[x]", 5),
        ("$UserId:{", 0), ("é || ☃", 5), ("(a || b", 0), ("((a) || b c)", 10), ("a\u{0}", 1),
        ("a || " + String(repeating: "x", count: 121), 5),
    ])
    func `an error says where`(text: String, offset: Int) {
        #expect { try TagExpression(parsing: text) } throws: { error in
            (error as? TagExpressionError)?.offset == offset
        }
    }

    @Test func `an error says what was expected`() {
        #expect { try TagExpression(parsing: "a b") } throws: {
            "\($0)" == "the tag expression is not valid at character 2: '&&', '||' or the end is expected, not 'b'"
        }
        #expect { try TagExpression(parsing: "a ||") } throws: {
            "\($0)".hasSuffix("a tag, '!' or '(' is expected, but the expression ends")
        }
    }

    @Test func `twenty tags are allowed with only or, else six`() throws {
        func join(_ count: Int, _ symbol: String) -> String {
            (0..<count).map { "t\($0)" }.joined(separator: symbol)
        }
        #expect(try TagExpression(parsing: join(20, "||")).tags.count == 20)
        #expect(try TagExpression(parsing: "(\(join(10, "||"))) || (\(join(10, " || ")))").tags.count == 10)
        #expect(try TagExpression(parsing: join(6, "&&")).tags.count == 6)
        for (text, offset) in [(join(21, "||"), 90), (join(7, "&&"), 24), (join(6, "||") + "||!x", 25)] {
            #expect { try TagExpression(parsing: text) } throws: {
                ($0 as? TagExpressionError)?.offset == offset && "\($0)".contains("are allowed")
            }
        }
    }

    @Test func `other limits leave room for tags of any length`() throws {
        let limits = TagExpression.Limits(tags: 7, alternatives: 100)
        func long(_ count: Int, _ symbol: String) -> String {
            (10..<10 + count).map { "($InstallationId:{\(String(repeating: "i", count: 117))\($0)})" }.joined(
                separator: symbol
            )
        }
        for (count, symbol) in [(7, " && "), (100, " || ")] {
            #expect(try TagExpression(parsing: long(count, symbol), limits: limits).tags.count == count)
            for limits in [limits, .standard] {
                #expect(throws: TagExpressionError.self) {
                    try TagExpression(parsing: long(count + 1, symbol), limits: limits)
                }
            }
            #expect(try TagExpression(parsing: long(count + 1, symbol), limits: .stored).tags.count == count + 1)
        }
    }

    @Test(arguments: ["(", "!"])
    func `nesting is bounded`(symbol: String) throws {
        func nested(_ depth: Int) -> String {
            String(repeating: symbol, count: depth) + "a" + String(repeating: symbol == "(" ? ")" : "", count: depth)
        }
        #expect(try TagExpression(parsing: nested(32)).tags.count == 1)
        #expect { try TagExpression(parsing: nested(33)) } throws: { ($0 as? TagExpressionError)?.offset == 32 }
        #expect { try TagExpression(parsing: nested(1_000_000)) } throws: { error in error is TagExpressionError }
    }

    @Test func `the tree is open to evaluation by sets`() throws {
        let root = try TagExpression(parsing: "a || b && !(c || d)").root
        let (a, b, c, d) = (try Tag("a"), try Tag("b"), try Tag("c"), try Tag("d"))
        #expect(root == .or([.tag(a), .and([.tag(b), .not(.or([.tag(c), .tag(d)]))])]))
        #expect(try TagExpression(parsing: "a || A").tags == [a])
    }
}
