//! Reading for one user, by an access list: the file stays root's.
//!
//! An owner could change the file's mode and shorten it, and the dispatcher would write beyond its
//! end.

use std::{fs::File, io, os::fd::AsRawFd};

/// The list's attribute and layout (`include/uapi/linux/posix_acl_xattr.h`).
const ATTRIBUTE: &std::ffi::CStr = c"system.posix_acl_access";
const VERSION: u32 = 2;
const OWNER: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP: u16 = 0x04;
const MASK: u16 = 0x10;
const OTHERS: u16 = 0x20;
/// Where an entry is not about a certain user.
const NO_ID: u32 = u32::MAX;

const READ: u16 = 4;
const READ_AND_WRITE: u16 = 6;

/// The owner reads and writes, and this user reads.
pub fn let_read(file: &File, uid: u32) -> io::Result<()> {
    let list = list(uid);
    // SAFETY: the name ends with a zero and the list has as many bytes.
    let result = unsafe {
        libc::fsetxattr(
            file.as_raw_fd(),
            ATTRIBUTE.as_ptr(),
            list.as_ptr().cast(),
            list.len(),
            0,
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn list(uid: u32) -> Vec<u8> {
    let entries = [
        (OWNER, READ_AND_WRITE, NO_ID),
        (USER, READ, uid),
        (GROUP, 0, NO_ID),
        (MASK, READ, NO_ID),
        (OTHERS, 0, NO_ID),
    ];
    let mut list = VERSION.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        list.extend(tag.to_le_bytes());
        list.extend(permissions.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_kernels_layout() {
        let list = list(1_000);
        assert_eq!(list.len(), 4 + 5 * 8);
        assert_eq!(list[..4], [2, 0, 0, 0]);
        assert_eq!(list[12..20], [2, 0, 4, 0, 0xe8, 3, 0, 0]);
    }
}
