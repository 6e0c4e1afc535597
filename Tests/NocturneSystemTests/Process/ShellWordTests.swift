import NocturneSystem
import Testing

@Suite("Words for a shell")
struct ShellWordTests {
    @Test("are quoted where a shell would change them")
    func quoted() {
        #expect(["a-b_c", "/data/OUT", "Müller"].allSatisfy { ShellWord.quoted($0) == $0 })
        #expect(ShellWord.quoted("") == "''" && ShellWord.quoted("$HOME") == "'$HOME'")
        #expect(ShellWord.quoted("it's here") == "'it'\\''s here'")
    }
}
