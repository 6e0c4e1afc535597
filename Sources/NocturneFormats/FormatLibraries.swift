internal import CCairo
internal import CDCMTK
internal import CPhoto
internal import CTIFF
internal import CZlib

/// The libraries used to read and write files.
public enum FormatLibraries {
    /// Names and versions as reported by the loaded libraries.
    public static var versions: [(name: String, version: String)] {
        [
            ("DCMTK", String(cString: cdcmtk_version())),
            ("OpenJPEG", String(cString: cdcmtk_openjpeg_version())),
            ("libjpeg-turbo", String(cString: cphoto_jpeg_version())),
            ("libpng", String(cString: cphoto_png_version())),
            ("libtiff", tiff),
            ("libwebp", String(cString: cphoto_webp_version())),
            ("libheif", cphoto_heif_version().map { String(cString: $0) } ?? "not installed"),
            ("zlib", String(cString: zlibVersion())),
            ("cairo", String(cString: cairo_version_string())),
        ]
    }

    private static var tiff: String {
        let line = String(cString: ctiff_version()).prefix { $0 != "\n" }
        return line.split(separator: " ").last.map(String.init) ?? String(line)
    }
}
