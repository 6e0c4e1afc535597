import Foundation
import NocturneRecipeSupport

/// A path that does not depend on the current folder.
func absolutePath(_ path: String) -> String { NocturneRecipeSupport.absolutePath(path) }

/// Where this program lies.
enum ProgramPath {
    /// Its name alone where the system does not say.
    static var own: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? "nocturne"
    }
}
