import NocturneBatch
import NocturneFormats
import NocturneSystem

extension InputFiles {
    /// Whether a file has the ending of a DICOM slice, or a number at its end, as many scanners write names, among DICOM files.
    ///
    /// Of the folder's files at most 16 are looked at: an answer for each of many empty files must not read all others.
    func isSlice(byName path: String) -> Bool {
        if [".dcm", ".dicom", ".ima"].contains(where: path.lowercased().hasSuffix) { return true }
        guard path.last?.isNumber == true else { return false }
        let folder = FileSystem.parent(of: path) + "/"
        var tried = 0
        let isAmongDICOM = try? contains(beginning: folder) { other in
            guard tried < 16, other != path, !other.dropFirst(folder.count).contains("/") else { return false }
            tried += 1
            return DICOMScanner.looksLikeDICOM(other)
        }
        return isAmongDICOM ?? false
    }
}
