//! Differences between vendors, as data: program, words of every call, signs of faults, lists of things.

use std::collections::BTreeMap;

use logbook::failure::Failure;
use logbook::machines::Cloud;
use serde::{Deserialize, Serialize};

use crate::census::Census;
use crate::fault::Kind;
use crate::resource::Resource;
use crate::wanted::Wanted;
use crate::{aws, az, gcloud};

/// A program that is called, and how it speaks.
#[derive(Debug)]
pub struct Tool {
    /// Owner of the program, for people.
    pub whose: &'static str,
    /// The program.
    pub program: &'static str,
    /// Words that say how the program is installed.
    pub install: &'static str,
    /// Words that say how one logs in.
    pub login: &'static str,
    /// The rights that are needed.
    pub rights: &'static str,
    /// Environment of each call.
    pub environment: &'static [(&'static str, &'static str)],
    /// The last words of every call.
    pub always: &'static [&'static str],
    /// The option that names the account: project, profile, subscription.
    pub account: &'static str,
    /// Signs in what the program says on standard error, in lower case, and what they mean; the first that fits decides.
    pub faults: &'static [(&'static str, Kind)],
}

/// A vendor.
#[derive(Debug)]
pub struct Vendor {
    /// Its program.
    pub tool: Tool,
    /// The last words by which one value is picked and printed bare; `{}` stands for its path.
    pub pick: &'static [&'static str],
    /// Login user where nobody is named.
    pub user: &'static str,
    /// The things that are needed for what is wanted.
    pub draw: fn(&Wanted) -> Result<Drawn, Failure>,
    /// Search for things that carry our tags.
    pub census: Census,
}

/// Resources to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawn {
    /// In an order in which each comes behind what it needs.
    pub resources: Vec<Resource>,
    /// The machines among them.
    pub machines: Vec<Machine>,
    /// Notes for a person.
    pub notes: Vec<String>,
}

/// A machine that will be a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The host's name.
    pub name: String,
    /// The placeholder of its address within its network.
    pub internal: String,
    /// The placeholder of its address from outside.
    pub external: String,
    /// Labels, whose values may hold placeholders; one that nothing told is left out.
    pub labels: BTreeMap<String, String>,
}

impl Vendor {
    /// The vendor of this cloud.
    pub fn of(cloud: Cloud) -> &'static Self {
        match cloud {
            Cloud::Gcp => &gcloud::VENDOR,
            Cloud::Aws => &aws::VENDOR,
            Cloud::Azure => &az::VENDOR,
        }
    }

    /// All words of a call that prints one value bare.
    pub fn picking(&self, words: &[String], account: Option<&str>, path: &str) -> Vec<String> {
        let pick = self.pick.iter().map(|word| word.replace("{}", path));
        words.iter().cloned().chain(self.tool.account_words(account)).chain(pick).collect()
    }
}

impl Tool {
    /// All words of a call but the program.
    pub fn whole(&self, words: &[String], account: Option<&str>) -> Vec<String> {
        let always = self.always.iter().map(ToString::to_string);
        words.iter().cloned().chain(self.account_words(account)).chain(always).collect()
    }

    fn account_words(&self, account: Option<&str>) -> impl Iterator<Item = String> + use<> {
        let option = self.account.to_owned();
        account.map(str::to_owned).into_iter().flat_map(move |account| [option.clone(), account])
    }
}
